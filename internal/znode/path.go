package znode

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Validate tells what is wrong with a path, by ZooKeeper's own rules (PathUtils of 3.8): absolute,
// no trailing slash, no empty, "." or ".." parts, and none of the characters that the server
// refuses, among them all beyond U+FFFF. It must be valid UTF-8, or it would reach the server as
// another path.
func Validate(path string) error {
	switch {
	case path == "":
		return errors.New("empty")
	case path[0] != '/':
		return errors.New("not absolute: must begin with a slash")
	case path == "/":
		return nil
	case path[len(path)-1] == '/':
		return errors.New("ends with a slash")
	case !utf8.ValidString(path):
		return errors.New("not valid UTF-8")
	}
	for i, r := range path {
		if refused(r) {
			return fmt.Errorf("character %U at %d is not allowed", r, i)
		}
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		switch part {
		case "":
			return errors.New("empty part between two slashes")
		case ".", "..":
			return fmt.Errorf("relative part %q", part)
		}
	}
	return nil
}

func refused(r rune) bool {
	return r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xe000 && r <= 0xf8ff || r >= 0xfff0 // the server sees the last as pairs of surrogates
}

// Join puts a child's name behind its parent's path.
func Join(parent, child string) string {
	if parent == "/" {
		return "/" + child
	}
	return parent + "/" + child
}

// Split divides a valid path into its parent's path and the last name, so that Join puts them
// together again. Of the root both are empty.
func Split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	switch {
	case i < 0 || path == "/":
		return "", ""
	case i == 0:
		return "/", path[1:]
	}
	return path[:i], path[i+1:]
}
