package zkserver

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

// namespaces counts the bytes read or written below each child of the root.
type namespaces map[string]*summary

// mostNamespaces bounds the names that are remembered, since they stay when their znodes are gone.
// The real server forgets none.
const mostNamespaces = 1 << 14

// add counts an access to a path, which the real server takes to be as long as the path and so many
// bytes more. The root belongs to no namespace.
func (all *namespaces) add(path string, bytes int) {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if name == "" {
		return
	}
	s := (*all)[name]
	if s == nil {
		if len(*all) == mostNamespaces {
			return
		}
		if *all == nil {
			*all = make(namespaces)
		}
		s = new(summary)
		(*all)[strings.Clone(name)] = s
	}
	s.add(int64(utf8.RuneCountInString(path) + bytes))
}

// put writes the lines of "mntr".
func (all namespaces) put(k *keys, kind string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		k.summary(name+"_"+kind+"_per_namespace", *all[name])
	}
}

// statBytes is what the real server takes a stat to be: six longs and five ints.
const statBytes = 6*8 + 5*4

func (t *traffic) read(path string, bytes int) { t.readBelow.add(path, bytes+statBytes) }

func (t *traffic) wrote(c *tree.Change) {
	switch c.Kind {
	case tree.Create, tree.SetData:
		t.writtenBelow.add(c.Path, len(c.Data))
	case tree.Delete:
		t.writtenBelow.add(c.Path, 0)
	}
}
