/// What those who know curl and wget will try, and what it is here.
enum FamiliarOptions {
    /// The option, or why there is none, for an option of curl or wget; nil for another one.
    static func hint(_ name: String) -> String? { hints.first { $0.names.contains(name) }?.hint }

    private static let hints: [(names: Set<String>, hint: String)] = [
        (["-L", "--location"], "redirects are followed without it"),
        (["-O", "--output-document"], "files are named by their URLs without it, or by -o FILE"),
        (["-f", "--fail"], "a status such as 404 is an error without it"),
        (["-J", "--remote-header-name", "--content-disposition"], "it is --remote-name here"),
        (["-P", "--directory-prefix", "--output-dir", "--create-dirs"], "it is -d DIR here"),
        (["-c", "-C", "--continue-at"], "it is --continue here"),
        (["-N", "-z", "--timestamping", "--time-cond"], "it is --newer here"),
        (["-nc", "--no-clobber"], "it is --skip-existing here"),
        (["-n", "--netrc-file", "--netrc-optional"], "it is --netrc here"),
        (["-u", "--user", "--http-user"], "write http://USER:PASSWORD@HOST/, or use --netrc"),
        (["--digest"], "digest authentication is not possible"),
        (["-i", "--input-file"], "it is --input FILE here"),
        (["-s", "--silent", "--no-verbose"], "it is -q here"),
        (["-S", "--show-error"], "errors are shown without it"),
        (["-m"], "it is --max-time SECONDS here"),
        (["-T", "--connect-timeout", "--read-timeout"], "it is --timeout SECONDS here"),
        (["-t", "--tries"], "it is --retry N here"),
        (["-Z", "--parallel", "--parallel-max"], "it is -j N here"),
        (["-r", "--range"], "write -H 'Range: bytes=0-99'"),
        (["-A", "-U", "--user-agent"], "write -H 'User-Agent: NAME'"),
        (["-b", "--cookie"], "write -H 'Cookie: NAME=VALUE'"),
        (["-e", "--referer"], "write -H 'Referer: URL'"),
        (["--compressed", "--compression"], "write -H 'Accept-Encoding: gzip'"),
        (["-x", "--proxy"], "set http_proxy or https_proxy in the environment"),
        (
            [
                "-X", "-F", "-I", "--request", "--method", "--data", "--form", "--head", "--upload-file",
                "--post-data",
            ],
            "files are fetched by GET, and nothing else"
        ),
    ]
}
