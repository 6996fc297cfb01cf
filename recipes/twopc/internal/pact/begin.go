package pact

import "github.com/troupe-go/troupe/recipe"

// begin writes all of it in one transaction: the record, the payload, the mark, and for each site its vote and the entry in its inbox.
func (t *tx) begin() {
	t.busy, t.sent = true, true
	root := t.c.root
	rec := Record{GUID: t.guid, Sites: t.sites, Coordinator: t.c.guid, Peers: t.peers}
	ops := []recipe.Op{
		{Do: recipe.Check, Path: t.c.presence.path, Version: recipe.Any}, // whoever reads the record may conclude from its absence that this coordinator died
		{Do: recipe.Create, Path: root.Tx(t.id), Data: rec.bytes()},
		{Do: recipe.Create, Path: root.Payload(t.id, t.guid), Data: t.payload},
		{Do: recipe.Create, Path: root.Open(t.id, t.guid)},
	}
	for _, site := range t.sites {
		ops = append(ops,
			recipe.Op{Do: recipe.Create, Path: root.Vote(t.id, t.guid, site)},
			recipe.Op{Do: recipe.Create, Path: root.Inbox(site) + "/" + entryPrefix(t.guid, t.id), Sequential: true})
	}
	t.c.desk.transact(t.began, ops...)
}

func (t *tx) began(ev recipe.Transacted) {
	t.busy = false
	switch {
	case ev.Code == recipe.Done:
		t.c.desk.do(Begun{N: t.n})
		t.opened()
	case ev.Code == recipe.Refused:
		t.refuse(ev.Err)
	case ev.Code == recipe.NoNode && ev.Failed == 0:
		t.c.presence.doubt()
	case ev.Code == recipe.NoNode:
		t.furnish()
	case ev.Code == recipe.NodeExists:
		t.inspect()
	default:
		t.advance()
	}
}

// furnish makes what is missing around a transaction.
func (t *tx) furnish() {
	paths := []string{t.c.root.Transactions()}
	for _, site := range t.sites {
		paths = append(paths, t.c.root.Inbox(site))
	}
	t.busy = true
	t.c.desk.ensure(func(err error) {
		t.busy = false
		if err != nil {
			t.refuse(err)
			return
		}
		t.advance()
	}, paths...)
}

// inspect looks at what stands under the id.
func (t *tx) inspect() {
	t.busy = true
	t.c.desk.read(t.c.root.Tx(t.id), watcher{}, func(ev recipe.Seen) {
		t.busy = false
		rec, ok := parseRecord(ev.Data)
		switch {
		case ev.Code == recipe.Refused:
			t.refuse(ev.Err)
		case !ev.Exists && t.cause != nil:
			t.refuse(ErrWithdrew)
		case !ev.Exists:
			t.advance()
		case ok && rec.GUID == t.guid: // one's own, whose answer was lost
			t.c.desk.do(Begun{N: t.n})
			t.opened()
		default:
			t.refuse(ErrInUse)
		}
	})
}

// refuse ends it before it has begun, or was taken over.
func (t *tx) refuse(err error) {
	t.c.desk.do(Refused{N: t.n, Err: err})
	t.over()
}

// claim takes a transaction over, if its coordinator is dead.
func (t *tx) claim() {
	if t.c.claims(t) {
		t.refuse(ErrNobodys)
		return
	}
	t.busy = true
	t.c.desk.read(t.c.root.Tx(t.id), watcher{}, func(ev recipe.Seen) {
		rec, ok := parseRecord(ev.Data)
		switch {
		case ev.Code == recipe.Refused:
			t.refuse(ev.Err)
		case !ev.Exists, !ok, t.c.follows(rec.GUID):
			t.refuse(ErrNobodys)
		case rec.Coordinator == t.c.guid: // taken over already; the answer was lost
			t.adopted(rec)
		case t.cause != nil:
			t.refuse(ErrWithdrew)
		default:
			t.probing = true
			t.c.probe(rec.Coordinator, func(alive bool) {
				t.probing = false
				if t.phase != Claiming { // given up meanwhile
					return
				}
				if alive {
					t.refuse(ErrNobodys)
					return
				}
				t.takeOver(rec, ev.Stat.Version)
			})
		}
	})
}

// takeOver writes this coordinator into the record; of a decided one it makes sure that nobody has settled it.
func (t *tx) takeOver(rec Record, version int32) {
	t.sent = true
	ops := []recipe.Op{
		{Do: recipe.Check, Path: t.c.presence.path, Version: recipe.Any},
		{Do: recipe.Check, Path: t.c.root.Open(t.id, rec.GUID), Version: recipe.Any},
	}
	rec.Coordinator = t.c.guid
	ops = append(ops, recipe.Op{Do: recipe.Set, Path: t.c.root.Tx(t.id), Data: rec.bytes(), Version: version})
	t.c.desk.transact(func(ev recipe.Transacted) {
		t.busy = false
		switch {
		case ev.Code == recipe.Done:
			t.adopted(rec)
		case ev.Code == recipe.Refused:
			t.refuse(ev.Err)
		case ev.Code == recipe.NoNode && ev.Failed == 0:
			t.c.presence.doubt()
		case ev.Code == recipe.NoNode && ev.Failed == 1:
			t.refuse(ErrNobodys)
		default:
			t.advance()
		}
	}, ops...)
}

func (t *tx) adopted(rec Record) {
	t.guid, t.sites, t.peers, t.rec = rec.GUID, rec.Sites, rec.Peers, rec
	t.c.desk.do(Adopted{N: t.n, GUID: t.guid, Sites: t.sites})
	if rec.State == Undecided {
		t.opened()
		return
	}
	t.decided(rec)
}

// settle takes the coordinator's mark away, now that the application knows the outcome, and the whole if nobody else needs it.
func (t *tx) settle() {
	if t.busy || t.c.desk.epoch == 0 {
		return
	}
	if t.rec.GUID != "" && t.rec.Coordinator != t.c.guid { // somebody took it over, and settles it
		t.c.desk.do(Over{N: t.n})
		t.over()
		return
	}
	t.busy = true
	d := &departure{desk: t.c.desk, root: t.c.root, id: t.id, guid: t.guid, own: []string{t.c.root.Open(t.id, t.guid)}, done: t.settled}
	if len(t.sites) > 0 {
		d.guess = t.c.root.Vote(t.id, t.guid, t.sites[0])
	}
	d.begin()
}

func (t *tx) settled(code recipe.Code, err error) {
	if code == recipe.Refused {
		t.fail(err)
		return
	}
	t.c.desk.do(Over{N: t.n})
	t.over()
}
