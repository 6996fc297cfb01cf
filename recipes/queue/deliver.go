package queue

import (
	"cmp"
	"errors"
	"strings"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
	"github.com/troupe-go/troupe/session"
)

// perform carries out the machine's effects.
func (in *intake) perform(e machine.Effect) {
	switch e := e.(type) {
	case consume.Deliver:
		in.deliver(e)
	case consume.Settled:
		in.settled(e)
	case consume.Pause:
		in.paused(e.On)
	case consume.Skipped:
		in.skipped(e)
	case consume.Put:
		in.put(e)
	}
}

// The states of a recipe that takes items, until it has ended.
const consuming, paused = "consuming", "paused"

// paused tells of a pause or its end. Of what WithAutoAck has taken there is no claim to give back.
func (in *intake) paused(on bool) {
	in.mu.Lock()
	h := in.host
	in.mu.Unlock()
	if !on {
		h.SetState(consuming)
		return
	}
	h.SetState(paused)
	for _, i := range in.stream.Withdraw(func(i *Item) bool { return i.Hold != nil }) {
		in.giveBack(i)
	}
}

// put has a producer put items that the machine takes out. A dead letter without an error of its
// last attempt gets a text, with the error of an earlier attempt behind "before", if there is one.
func (in *intake) put(e consume.Put) {
	by := in.queue.back
	if e.Dead {
		by = in.queue.dead
	}
	if was := layout.ParseFailure(e.Items[0].Failure).Error; e.Silent {
		e.Items[0].Failure = in.queue.failure(strings.TrimSuffix("no error of the last attempt: returned without, or its consumer died or lost it; before: "+was, "; before: "))
	}
	by.Begin(produce.Put{
		GUIDs: e.GUIDs, Items: e.Items, Delay: e.Delay, With: recipe.Operations(e.With), Back: true, Names: e.Names,
		Then: func(err error) {
			if e.Dead && err == nil {
				in.queue.tell(session.Event{
					Kind: session.EventItemDead, Name: cmp.Or(e.Items[0].ID, e.GUIDs[0]), Attempt: e.Items[0].Tried, Err: errors.New(layout.ParseFailure(e.Items[0].Failure).Error),
				})
				recipe.Logger(in.queue.session).Warn("an item has become a dead letter", "recipe", "queue", "path", in.queue.session.Path(in.queue.path), "item", cmp.Or(e.Items[0].ID, e.GUIDs[0]),
					"attempts", e.Items[0].Tried, "error", layout.ParseFailure(e.Items[0].Failure).Error)
			}
			in.notify(consume.Answer{No: e.No, Err: err})
		},
	})
}

// skipped reports an error that is in the way. If it keeps everything from being claimed, calls of
// Take return it.
func (in *intake) skipped(e consume.Skipped) {
	err := recipe.Failed(in.queue.session, "consume", e.Path, e.Err)
	switch {
	case in.consumer != nil:
		in.consumer.report(err)
	case e.Blocks:
		in.mu.Lock()
		defer in.mu.Unlock()
		in.refuse(err)
	}
}

// deliver makes an Item of one that was claimed, and hands it over.
func (in *intake) deliver(e consume.Deliver) {
	i := &Item{queue: in.queue, by: in, from: e, answer: new(notify.End)}
	in.mu.Lock()
	h := in.host
	i.tenure = recipe.NewTenure(h, nil, session.Event{Kind: session.EventItemClaimed, Name: i.ID(), Token: e.Token, Epoch: e.Epoch, Attempt: e.Attempt}, func() (recipe.Asked, bool) {
		by := i.asked.Load()
		return *cmp.Or(by, &in.by), by != nil
	})
	in.items[e.No] = i
	in.mu.Unlock()
	hold, err := h.HoldAs(&i.tenure, e.Path, func(cause error) { in.lost(i, cause) })
	if err != nil {
		in.remove(e.No)
		h.Tell(consume.Command{No: e.No, Kind: consume.Unheld})
		return
	}
	i.Hold = hold
	if !in.opts.auto {
		i.expire(in.queue.cfg.visibility)
		in.offer(i)
	} else if _, first, _ := i.begin(consume.Ack); first { // at most once: the Ack goes before the item is received
		in.mu.Lock()
		defer in.mu.Unlock()
		in.tell(in.demand())
		in.tell(consume.Command{No: i.from.No, Kind: consume.Ack})
	}
}

// offer sends an item to the receivers.
func (in *intake) offer(i *Item) {
	switch {
	case i.Err() == nil && !in.stream.Send(i): // the stream is closed
		in.giveBack(i)
	case i.Err() != nil: // the item was lost before it could be withdrawn
		in.stream.Withdraw(func(j *Item) bool { return j == i })
	case in.consumer == nil || in.draining.Load():
		in.trim()
	}
}

// received handles that an item of a Consumer was received. A call of Take does that itself.
func (in *intake) received(i *Item) {
	switch {
	case in.opts.auto:
		in.remove(i.from.No)
	case in.consumer != nil:
		i.warn(in.by)
		in.notify(consume.Command{No: i.from.No, Kind: consume.Received})
	}
}

// giveBack returns an item that was not received.
func (in *intake) giveBack(i *Item) {
	if _, first, _ := i.begin(consume.Return); first {
		in.letGo(i, session.ErrReleased)
		in.notify(consume.Command{No: i.from.No, Kind: consume.Return})
	}
}

// letGo ends the possession of an item.
func (in *intake) letGo(i *Item, cause error) {
	in.mu.Lock()
	h := in.host
	in.mu.Unlock()
	if h != nil {
		h.End(i.Hold, cause)
	}
}

// remove forgets an item; nil if it was forgotten before.
func (in *intake) remove(no uint64) *Item {
	in.mu.Lock()
	defer in.mu.Unlock()
	i := in.items[no]
	delete(in.items, no)
	if in.opts.auto && i != nil {
		in.tell(in.demand())
	}
	return i
}

// lost handles the end of a possession.
func (in *intake) lost(i *Item, cause error) {
	stop(i.limit.Load())
	if errors.Is(cause, session.ErrReleased) {
		return
	}
	in.stream.Withdraw(func(j *Item) bool { return j == i })
	if i.settling() || in.remove(i.from.No) == nil {
		return // an answer to its settlement will come, or it was dropped
	}
	i.tellSettled(cause)
	in.notify(consume.Command{No: i.from.No, Kind: consume.Ended})
}

// settled handles the end of an item. An Ack or Nack at the same time as a loss comes too late.
func (in *intake) settled(e consume.Settled) {
	in.mu.Lock()
	i := in.items[e.No]
	in.mu.Unlock()
	switch {
	case i == nil:
		return
	case e.Stays:
		in.refused(i, e.Err)
		return
	case e.Err == nil && in.opts.auto: // the item is deleted, and the receiver's for good
		in.letGo(i, session.ErrReleased)
		i.tellSettled(nil)
		from := i.from
		from.Path, from.Token = "", 0
		in.offer(&Item{queue: in.queue, by: in, from: from, answer: new(notify.End)})
		return
	}
	cause, answer := session.ErrReleased, errDone
	if e.Err != nil {
		cause, answer = e.Err, lost(e.Err)
	}
	in.remove(e.No)
	in.letGo(i, cause)
	i.tellSettled(e.Err)
	i.answer.Set(answer)
}

// refused handles that ZooKeeper has refused an Ack or Nack. It can be called again, unless the
// possession is over, as after Nack: then the item goes back as soon as that is allowed.
func (in *intake) refused(i *Item, err error) {
	i.refused(err)
	i.expire(in.queue.cfg.visibility)
	if (i.Err() != nil || in.opts.auto) && in.remove(i.from.No) != nil {
		in.letGo(i, session.ErrReleased)
		i.tellSettled(err)
		in.notify(consume.Command{No: i.from.No, Kind: consume.Ended})
	}
}
