package docs_test

// That of the head of package fxmodule/embedded.

import _ "github.com/troupe-go/troupe/fxmodule/embedded"
