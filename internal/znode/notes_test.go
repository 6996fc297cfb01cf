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
		own   string
	}{
		"":                             {},
		"me":                           {own: "me"},
		"held":                         {own: "held"},
		"held\n":                       {notes: znode.Notes{Held: true}},
		"held\nme\nand mine":           {notes: znode.Notes{Held: true}, own: "me\nand mine"},
		"held\nheld\n":                 {notes: znode.Notes{Held: true}, own: "held\n"},
		"unlock":                       {notes: znode.Notes{Unlock: true}},
		"unlocked":                     {notes: znode.Notes{Unlock: true}},
		"unlock\nme":                   {notes: znode.Notes{Unlock: true}, own: "me"},
		"unlock\nheld\nme":             {notes: znode.Notes{Unlock: true, Held: true}, own: "me"},
		"placed 47\nme":                {notes: znode.Notes{Placed: 47}, own: "me"},
		"placed 47":                    {own: "placed 47"},
		"placed 0\n":                   {own: "placed 0\n"},
		"placed -1\n":                  {own: "placed -1\n"},
		"placed x\n":                   {own: "placed x\n"},
		"placed 9223372036854775808\n": {own: "placed 9223372036854775808\n"},
		"unlock\nheld\nplaced 1\nme":   {notes: znode.Notes{Unlock: true, Held: true, Placed: 1}, own: "me"},
		"held\nunlock\n":               {notes: znode.Notes{Held: true}, own: "unlock\n"},
	} {
		notes, own := znode.ParseNotes([]byte(data))
		require.Equal(t, want.notes, notes, "%q", data)
		require.Equal(t, want.own, string(own), "%q", data)
	}
}

func FuzzNotes(f *testing.F) {
	f.Add([]byte("unlock\nheld\nplaced 47\nme"))
	f.Add([]byte("unlocked"))
	f.Fuzz(func(t *testing.T, data []byte) {
		notes, own := znode.ParseNotes(data)
		require.Equal(t, znode.Revoked(data), notes.Unlock)
		if inner, _ := znode.ParseNotes(own); inner != (znode.Notes{}) {
			return // written twice, by somebody else
		}
		again, rest := znode.ParseNotes(notes.Write(own))
		require.Equal(t, notes, again)
		require.Equal(t, string(own), string(rest))
	})
}
