import Deferred
