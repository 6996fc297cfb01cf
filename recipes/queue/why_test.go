// Why a queue does not go on: Entry, Find and Consumers tell who has an item, and its last error.

package queue_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// finds is the item with that id.
func finds(t testing.TB, q *queue.Queue, id string) queue.Entry {
	t.Helper()
	return must(q.Find(bubble.Minute(t), id))
}

// The last error is kept wherever an item goes, with its time and the process that has recorded it.
// An item that comes back from the dead letters has none.
func TestTheLastErrorIsKept(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session(session.WithIdentity("orders-7"))
		q := newQueue(t, s, queue.WithMaxAttempts(5))
		put(t, q, "x", queue.WithID("x"))
		require.Zero(t, finds(t, q, "x").LastError)
		shows := func(text string, at time.Time, dead bool) {
			t.Helper()
			e := finds(t, q, "x")
			require.Equal(t, []any{text, "orders-7", dead, "x"}, []any{e.LastError.Error, e.LastError.By.Name, e.Dead, string(e.Data)})
			require.WithinDuration(t, at, e.LastError.Time, time.Millisecond)
		}
		nack := func(opts ...queue.NackOption) time.Time {
			t.Helper()
			require.NoError(t, take(t, q).Nack(bubble.Minute(t), opts...))
			return time.Now()
		}
		at := nack(queue.WithError(errors.New("no paper")), queue.WithPause(time.Minute))
		shows("no paper", at, false)
		require.False(t, finds(t, q, "x").Due.IsZero())
		time.Sleep(2 * time.Minute)
		i := take(t, q)
		require.Zero(t, finds(t, q, "x").Due)
		shows("no paper", at, false)
		at = time.Now()
		require.NoError(t, i.Nack(bubble.Minute(t), queue.WithError(errors.New("no ink")), queue.WithPause(0)))
		shows("no ink", at, false)
		nack(queue.WithError(nil), queue.WithPause(0)) // which says nothing new
		nack(queue.WithPause(0))
		shows("no ink", at, false)
		at = nack(queue.WithError(errors.New("no hope")))
		shows("no hope", at, true)
		require.NoError(t, q.Requeue(bubble.Minute(t), "x"))
		e := finds(t, q, "x")
		require.Equal(t, []any{queue.Failure{}, 0, false}, []any{e.LastError, e.Attempts, e.Dead})
		require.ErrorIs(t, errOf(q.Find(bubble.Minute(t), "y")), session.ErrNoNode)
	})
}

// A dead letter has an error, also if none was given, and its number of attempts; so does the log.
func TestADeadLetterSaysWhy(t *testing.T) {
	t.Parallel()
	for why, last := range map[string]func(t *bubble.World, s *session.Session, i *queue.Item){
		"returned": func(t *bubble.World, _ *session.Session, i *queue.Item) {
			require.NoError(t, i.Nack(bubble.Minute(t)))
		},
		"lost": func(t *bubble.World, s *session.Session, _ *queue.Item) {
			t.Server.Expire(s.Status().SessionID)
		},
		"jammed": func(t *bubble.World, _ *session.Session, i *queue.Item) {
			require.NoError(t, i.Nack(bubble.Minute(t), queue.WithError(errors.New("jammed"))))
		},
	} {
		each(t, why, func(t *bubble.World) {
			var log bytes.Buffer
			s := t.Session(session.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			q := newQueue(t, s, queue.WithMaxAttempts(2))
			put(t, q, "x", queue.WithID("x"))
			require.NoError(t, take(t, q).Nack(bubble.Minute(t), queue.WithError(errors.New("no paper")), queue.WithPause(0)))
			last(t, s, take(t, q))
			consumer(t, q)
			time.Sleep(time.Minute)
			e := finds(t, q, "x")
			if why != "jammed" {
				why = "no error of the last attempt: returned without, or its consumer died or lost it; before: no paper"
			}
			require.Equal(t, []any{true, 2, why}, []any{e.Dead, e.Attempts, e.LastError.Error})
			require.WithinDuration(t, e.Since, e.LastError.Time, time.Second)
			synctest.Wait() // lines are handed over a little later
			require.Contains(t, log.String(), `msg="an item has become a dead letter" recipe=queue path=`+path+" item=x attempts=2 error=")
			require.Contains(t, log.String(), why)
			again := take(t, queueAt(t, s, path+"/dead", queue.WithMaxAttempts(2)))
			require.Equal(t, 1, again.Attempt(), "the dead letters are a queue, too")
			require.NoError(t, again.Nack(bubble.Minute(t), queue.WithPause(0)))
			require.Equal(t, 3, finds(t, q, "x").Attempts)
		})
	}
}

// panics is an error that can't be told.
type panics struct{ error }

// A Nack does not fail for its error, of any kind, nor when the item's znode is full.
func TestANackDoesNotFailForItsError(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä\x00", 1000)
	for name, err := range map[string]error{
		"long": errors.New(long), "half a rune": errors.New("a\xc3"), "empty": errors.New(""), "it panics": panics{}, "joined": errors.Join(errors.New("a"), errors.New("b")),
	} {
		each(t, name, func(t *bubble.World) {
			q := newQueue(t, t.Session(), queue.WithMaxAttempts(2))
			put(t, q, "x", queue.WithID("x"))
			for range 2 {
				require.NoError(t, take(t, q).Nack(bubble.Minute(t), queue.WithPause(0), queue.WithError(err)))
				e := finds(t, q, "x")
				require.True(t, utf8.ValidString(e.LastError.Error))
				require.LessOrEqual(t, len(e.LastError.Error), 1<<10)
				require.False(t, e.LastError.Time.IsZero())
				if name == "long" {
					require.Greater(t, len(e.LastError.Error), 200)
					require.True(t, strings.HasPrefix(long, e.LastError.Error))
				}
			}
		})
	}
	for name, after := range map[string]time.Duration{"at once": 0, "after a pause": time.Second} {
		each(t, "too large "+name, func(t *bubble.World) {
			s := t.Session(session.WithMaxPacket(2000))
			q := newQueue(t, s, queue.WithMaxAttempts(2))
			put(t, q, strings.Repeat("x", 1100), queue.WithID("x"))
			c := consumer(t, q)
			for range 2 {
				i := bubble.Within(t, time.Minute, c.Items())
				require.NoError(t, i.Nack(bubble.Minute(t), queue.WithPause(after), queue.WithError(errors.New(long))))
			}
			time.Sleep(time.Minute)
			e := finds(t, q, "x")
			require.Equal(t, []any{true, queue.Failure{}, 1100}, []any{e.Dead, e.LastError, len(e.Data)})
			require.Empty(t, c.Errors())
		})
	}
}

// Data of an older or newer version are read as far as they are understood: the item is delivered,
// and a claim leaves them as they are.
func TestItemsOfOtherVersions(t *testing.T) {
	t.Parallel()
	for about, want := range map[string]string{
		`{}`: "", `{"failure":null}`: "", `{"failure":{"error":"e","time":946684800000,"host":"new"},"newer":[1]}`: "e",
		`{"failure":7}`: "", `{"failure":{"error":"e","time":"noon"}}`: "",
	} {
		each(t, about, func(t *bubble.World) {
			q := newQueue(t, t.Session())
			put(t, q, "first")
			require.Equal(t, []string{"first"}, takes(t, q, 1))
			require.NoError(t, t.Server.Znodes(t).Create(head+"/g-queue-0000000009", []byte("0000000001 "+about+"\nbody")))
			e := finds(t, q, "g")
			require.Equal(t, []any{want, 1, false, "body"}, []any{e.LastError.Error, e.Attempts, e.Unread, string(e.Data)})
			i := takeOne(t, q, "body")
			data, _, err := t.Session().Get(bubble.Minute(t), head+"/g-queue-0000000009")
			require.NoError(t, err)
			require.Equal(t, "0000000002 "+about+"\nbody", string(data))
			require.NoError(t, i.Nack(bubble.Minute(t), queue.WithPause(time.Second)))
			require.Equal(t, want, finds(t, q, "g").LastError.Error)
		})
	}
}

// Consumers tells each consumer's process, its items in hand and how many it may have; an entry
// tells the process that has it.
func TestConsumersTellWhoHasWhat(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s, nobody := t.Session(session.WithIdentity("orders-7")), t.Session(session.WithoutIdentity())
		q := newQueue(t, s)
		all := must(q.Consumers(bubble.Minute(t)))
		require.Empty(t, all)
		putAll(t, q, 0, 5)
		begun := time.Now()
		consumer(t, q, queue.WithPrefetch(3))
		synctest.Wait()
		time.Sleep(time.Minute)
		i := take(t, newQueue(t, nobody))
		all = must(q.Consumers(bubble.Minute(t)))
		require.Len(t, all, 2)
		if all[0].Owner.Name == "" {
			all[0], all[1] = all[1], all[0]
		}
		require.Equal(t, []any{"orders-7", s.Status().SessionID, 3, 3}, []any{all[0].Owner.Name, all[0].SessionID, all[0].InHand, all[0].Prefetch})
		require.Equal(t, []any{session.Identity{}, nobody.Status().SessionID, 1, 0}, []any{all[1].Owner, all[1].SessionID, all[1].InHand, all[1].Prefetch})
		require.WithinDuration(t, begun, all[0].Since, time.Second)
		for _, c := range all { // a plain get shows whose it is
			data, _, err := s.Get(bubble.Minute(t), path+"/consumers/"+c.ID)
			require.NoError(t, err)
			require.Equal(t, c.Owner.Name != "", strings.HasPrefix(string(data), "by {"))
			require.Equal(t, c.Owner.Name != "", strings.Contains(string(data), `"name":"orders-7"`))
		}
		mine := finds(t, q, i.ID())
		require.Equal(t, []any{true, session.Identity{}, nobody.Status().SessionID}, []any{mine.Claimed, mine.Owner, mine.SessionID})
		require.WithinDuration(t, time.Now(), mine.Since, time.Second)
		entries := must(q.List(bubble.Minute(t), 5))
		for n, e := range entries {
			require.Equal(t, []any{n < 3, n < 4}, []any{e.Owner.Name == "orders-7", e.Claimed})
		}
	})
}

// Data of consumers of other versions are read as far as they are understood.
func TestConsumersOfOtherVersions(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		put(t, q, "x")
		for data, want := range map[string]int{"": 0, "by {\"pid\":1}\n": 0, "by {\"pid\":1}\nprefetch 7\nnewer\n": 7, "prefetch x\n": 0} {
			require.NoError(t, t.Server.Znodes(t).Create(path+"/consumers/g", []byte(data)))
			all := must(q.Consumers(bubble.Minute(t)))
			require.Len(t, all, 1)
			require.Equal(t, []any{"g", want, strings.HasPrefix(data, "by")}, []any{all[0].ID, all[0].Prefetch, all[0].Owner.PID == 1})
			require.NoError(t, t.Session().Delete(bubble.Minute(t), path+"/consumers/g", -1))
		}
	})
}

// An item whose pause is over while no consumer has room is overdue, until one has.
func TestAnItemIsOverdueWhileNoConsumerHasRoom(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		put(t, q, "later", queue.WithID("x"), queue.WithDelay(time.Minute))
		put(t, q, "now")
		c := consumer(t, q)
		i := gets(t, c, "now")
		time.Sleep(time.Minute)
		require.False(t, finds(t, q, "x").Overdue, "a consumer may be at it")
		time.Sleep(2 * time.Second)
		e := finds(t, q, "x")
		require.Equal(t, []bool{true, false, false}, []bool{e.Overdue, e.Claimed, e.Due.IsZero()})
		require.NoError(t, i.Ack(bubble.Minute(t)))
		gets(t, c, "later")
		e = finds(t, q, "x")
		require.Equal(t, []bool{false, true, true}, []bool{e.Overdue, e.Claimed, e.Due.IsZero()})
	})
}

// Another client may have written any time: those of an entry can be told as JSON.
func TestTimesOfAnEntryAreThoseOfJSON(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		const guid, far = "11111111-2222-4333-8444-555555555555-", "9223372036854775807"
		require.NoError(t, t.Server.Znodes(t).Create(path+"/items/0-0000000000/"+guid+"queue-0000000000", []byte(`0000000001 {"failure":{"error":"x","time":`+far+"}}\n")))
		require.NoError(t, t.Server.Znodes(t).Create(path+"/later/"+far+"-0000000000/"+far+"-"+guid+"0000000000", []byte("0000000001 {}\n")))
		all := must(newQueue(t, t.Session()).List(bubble.Minute(t), 9))
		require.Len(t, all, 2)
		require.Equal(t, []int{9999, 9999}, []int{all[0].LastError.Time.Year(), all[1].Due.Year()})
		require.False(t, all[1].Overdue)
		must(json.Marshal(all))
	})
}
