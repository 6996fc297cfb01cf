package znode_test

// Notes at the head of a contender's data.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
)

func TestNotesAreReadFromTheHeadOfTheData(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]struct {
		notes znode.Notes
		text  string
	}{
		"":                             {},
		"me":                           {text: "me"},
		"held":                         {text: "held"},
		"held\n":                       {notes: znode.Notes{Held: true}},
		"held\nme\nand mine":           {notes: znode.Notes{Held: true}, text: "me\nand mine"},
		"held\nheld\n":                 {notes: znode.Notes{Held: true}, text: "held\n"},
		"unlock":                       {notes: znode.Notes{Unlock: true}},
		"unlocked":                     {notes: znode.Notes{Unlock: true}},
		"unlock\nme":                   {notes: znode.Notes{Unlock: true}, text: "me"},
		"unlock\nheld\nme":             {notes: znode.Notes{Unlock: true, Held: true}, text: "me"},
		"placed 47\nme":                {notes: znode.Notes{Placed: 47}, text: "me"},
		"placed 47":                    {text: "placed 47"},
		"placed 0\n":                   {text: "placed 0\n"},
		"placed -1\n":                  {text: "placed -1\n"},
		"placed x\n":                   {text: "placed x\n"},
		"placed 9223372036854775808\n": {text: "placed 9223372036854775808\n"},
		"unlock\nheld\nplaced 1\nme":   {notes: znode.Notes{Unlock: true, Held: true, Placed: 1}, text: "me"},
		"held\nunlock\n":               {notes: znode.Notes{Held: true}, text: "unlock\n"},
	} {
		notes, text := znode.ParseNotes([]byte(data))
		require.Equal(t, want.notes, notes, "%q", data)
		require.Equal(t, want.text, string(text), "%q", data)
	}
}

func FuzzNotes(f *testing.F) {
	f.Add([]byte("unlock\nheld\nplaced 47\nme"))
	f.Add([]byte("unlocked"))
	f.Fuzz(func(t *testing.T, data []byte) {
		notes, text := znode.ParseNotes(data)
		require.Equal(t, znode.Revoked(data), notes.Unlock)
		if inner, _ := znode.ParseNotes(text); inner != (znode.Notes{}) {
			return // written twice, by somebody else
		}
		again, rest := znode.ParseNotes(notes.Write(text))
		require.Equal(t, notes, again)
		require.Equal(t, string(text), string(rest))
	})
}
