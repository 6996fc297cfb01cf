package tree

import "strings"

// Valid reports whether a path is one by ZooKeeper's rules: absolute, no trailing slash, no empty,
// "." or ".." part, no characters that it refuses.
func Valid(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	if path == "/" {
		return true
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	for _, c := range path {
		if refused(c) {
			return false
		}
	}
	return true
}

// refused: control characters, private use, surrogates and specials. Those beyond 16 bits are
// surrogate pairs to the real server, and so refused too.
func refused(c rune) bool {
	return c <= 0x1f || c >= 0x7f && c <= 0x9f || c >= 0xd800 && c <= 0xf8ff || c >= 0xfff0
}
