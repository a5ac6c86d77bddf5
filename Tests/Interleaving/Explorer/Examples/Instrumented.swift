// The sources are in Original.
