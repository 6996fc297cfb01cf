package main

// mutants are the builds that are broken on purpose. Each breaks one property that Troupe exists
// for; docs/proof.md has the table with the tests that caught it.
var mutants = []mutant{
	{
		name:    "the lease is extended by the answers to pings",
		file:    "session/internal/lease/lease.go",
		snippet: "		l.acks.add(sent.Mono, now.Mono, l.timeout/grainShare)\n	}\n}\n\n// credit",
		instead: `		l.acks.add(sent.Mono, now.Mono, l.timeout/grainShare)
	}
	if l.stands {
		r := *l.view.now.Load()
		l.until = now.Add(l.timeout - l.margin)
		r.until = l.until
		l.view.now.Store(&r)
	}
}

// credit`,
		packages: []string{"./session/...", "./recipe/..."},
	},
	{
		name:     "the own znode is not watched",
		file:     "recipes/internal/contend/entry.go",
		snippet:  "	m.watches.read(machine.Read{Path: path, Watch: true})",
		instead:  "	m.watches.read(machine.Read{Path: path, Watch: path != m.entry.path})",
		packages: []string{"./recipes/internal/contend", "./recipes/lock", "./test/losses"},
	},
	{
		name:     "a grant within the session without knowing of the own znode",
		file:     "recipes/internal/contend/decide.go",
		snippet:  "	case released:\n		return p == watched",
		instead:  "	case released:\n		return p >= told",
		packages: []string{"./recipes/internal/contend", "./recipes/lock"},
	},
	{
		name:     "TransferTo's grant without the record",
		file:     "session/hold.go",
		snippet:  "	case g.record.lacksOrDeletes(path):",
		instead:  "	case g.closing && g.record.lacksOrDeletes(path):",
		packages: []string{"./session", "./recipes/election"},
	},
	{
		name:     "the returned contender is believed",
		file:     "session/read.go",
		snippet:  "		if err == nil && lacked && stat.EphemeralOwner == c.SessionID() {",
		instead:  "		if err == nil && lacked && stat.EphemeralOwner == 0 {",
		packages: []string{"./session", "./recipes/lock"},
	},
	{
		name:     "two tokens from one transaction",
		file:     "session/internal/zkconn/group.go",
		snippet:  "o.parent == m.parent && (m.parent != \"\" ||",
		instead:  "o.parent == m.parent && (m.parent == \"\" &&",
		packages: []string{"./session/internal/zkconn"},
	},
	{
		name:     "no listing after the predecessor has gone",
		file:     "recipes/internal/contend/contenders.go",
		snippet:  "	if c.m.state != Waiting || c.listing.disconnected {\n		c.m.ahead = c.m.ahead.doubted()\n	}\n	if c.m.ahead = c.m.ahead.gone(); ",
		instead:  "	if c.m.state == Waiting {\n		c.m.ahead = none\n	}\n	if ",
		packages: []string{"./recipes/internal/contend", "./recipes/lock", "./test/losses"},
	},
	{
		name:     "told without a later listing",
		file:     "recipes/internal/contend/listing.go",
		snippet:  "	case c.listing.early && (missing || e.Err != nil):\n",
		instead:  "	case c.listing.early && missing && c.semaphore == nil:\n		self, _ := znode.ParseContender(c.m.entry.name)\n		c.conclude(self, nil)\n	case c.listing.early && (missing || e.Err != nil):\n",
		packages: []string{"./recipes/internal/contend", "./recipes/lock"},
	},
	{
		name:     "a grant after a reconnection without a listing",
		file:     "recipes/internal/contend/contenders.go",
		snippet:  "	if c.listing.disconnected {\n		c.m.ahead = c.m.ahead.doubted()\n	}\n	if !mayHold",
		instead:  "	if !mayHold",
		packages: []string{"./recipes/internal/contend", "./recipes/lock"},
	},
	{
		name:     "a mark is taken for held before its transaction is answered",
		file:     "recipes/internal/contend/semaphore.go",
		snippet:  "	s.m.entry.mark.asked = true\n",
		instead:  "	s.m.entry.mark.asked, s.m.entry.mark.held = true, true\n",
		packages: []string{"./recipes/internal/contend", "./recipes/lock"},
	},
	{
		name:     "an Ack is confirmed while its item goes back",
		file:     "recipes/queue/item.go",
		snippet:  "	case err != nil:\n		return err\n	case first && c.Kind != consume.Ack:",
		instead:  "	case err != nil && c.Kind == consume.Ack:\n		return nil\n	case err != nil:\n		return err\n	case first && c.Kind != consume.Ack:",
		packages: []string{"./recipes/queue"},
	},
	{
		name:     "the lock is released before the function has returned",
		file:     "recipes/lock/lock.go",
		snippet:  "	err = f(inner, g)\n",
		instead:  "	_ = release()\n	err = f(inner, g)\n",
		packages: []string{"./recipes/lock"},
	},
	{
		name: "the token of the former possession is used again",
		file: "recipes/internal/contend/entry.go",
		snippet: `	m.state = Holding
	m.entry.of = c
	m.requests.Emit(machine.Grant{Epoch: m.requests.Epoch(), Claim: c, Path: m.entry.path, Token: m.entry.czxid})
	m.entry.tellRevoked(&m.requests)
}
`,
		instead: `	m.state = Holding
	m.entry.of = c
	tokens <- true
	if former[m] == 0 {
		former[m] = m.entry.czxid
	}
	token := former[m]
	<-tokens
	m.requests.Emit(machine.Grant{Epoch: m.requests.Epoch(), Claim: c, Path: m.entry.path, Token: token})
	m.entry.tellRevoked(&m.requests)
}

var tokens, former = make(chan bool, 1), map[*Machine]int64{}
`,
		packages: []string{"./recipes/internal/contend", "./recipes/lock", "./recipes/election"},
	},
	{
		name:     "an answer of the former epoch is accepted",
		file:     "machine/requests.go",
		snippet:  "	case dated && (r.epoch == 0 || epoch != r.epoch):",
		instead:  "	case dated && epoch == 0:",
		packages: []string{"./machine", "./recipes/internal/contend", "./recipes/queue/..."},
	},
	{
		name:     "Done closes after the deadline",
		file:     "session/keeper.go",
		snippet:  "		k.set(&k.expiryTimer, now, k.lease.Until())\n	case k.suspected || ",
		instead:  "		k.set(&k.expiryTimer, now, k.lease.Until().Add(time.Millisecond))\n	case k.suspected || ",
		packages: []string{"./session"},
	},
	{
		name:     "a protected create is not looked up after a lost reply",
		file:     "session/create.go",
		snippet:  "	if path, stat, err = p.search(c, &p.proof); err != nil {",
		instead:  "	if p.lost = false; err != nil {",
		packages: []string{"./session"},
	},
	{
		name:     "an item is claimed without its version",
		file:     "recipes/queue/internal/consume/claim.go",
		snippet:  "Path: i.at.Path(m.base.root), Data: data, Version: i.version}",
		instead:  "Path: i.at.Path(m.base.root), Data: data, Version: machine.Any}",
		packages: []string{"./recipes/queue/..."},
	},
	{
		name:     "a put does not ring the bell",
		file:     "recipes/queue/internal/produce/batch.go",
		snippet:  "session.SetOp(p.root.Bell(), nil, -1)",
		instead:  "session.CheckOp(p.root.Bell(), -1)",
		packages: []string{"./recipes/queue"},
	},
	{
		name:     "a two-phase commit is decided without the votes' versions",
		file:     "recipes/twopc/internal/protocol/view.go",
		snippet:  "Path: v.path(b.Site), Version: b.version}",
		instead:  "Path: v.path(b.Site), Version: machine.Any}",
		packages: []string{"./recipes/twopc/..."},
	},
	{
		name:     "a server that may have late writes is asked for the session",
		file:     "session/internal/zkconn/scout.go",
		snippet:  "	if losses == 0 {",
		instead:  "	if losses >= 0 {",
		packages: []string{"./session", "./session/internal/zkconn"},
	},
	{
		name:     "a weight fails by a limit that was read long ago",
		file:     "recipes/internal/contend/semaphore.go",
		snippet:  "	case self.Weight > s.permits.limit && s.limit.at < s.c.listing.ask:",
		instead:  "	case self.Weight > s.permits.limit && !s.limit.known:",
		packages: []string{"./recipes/internal/contend", "./recipes/lock"},
	},
	{
		name:     "a second Release does not find the first",
		file:     "recipe/ledger.go",
		snippet:  "		if !in.once {\n			return in\n",
		instead:  "		if !in.once && !in.withdrawn {\n			return in\n",
		packages: []string{"./recipe", "./recipes/lock"},
	},
	{
		name:     "a name is deleted without its version",
		file:     "recipes/naming/bind.go",
		snippet:  "n.session.Delete(ctx, at, stat.Version) != nil",
		instead:  "n.session.Delete(ctx, at, stat.Version-stat.Version-1) != nil",
		packages: []string{"./recipes/naming"},
	},
	{
		name:     "a write that was lost within the epoch is in doubt",
		file:     "recipes/config/update.go",
		snippet:  "	case u.session.Status().Epoch == epoch:",
		instead:  "	case u.session.Status().Epoch == epoch+1:",
		packages: []string{"./recipes/config"},
	},
	{
		name:     "the pause between retries outlasts the context",
		file:     "session/request.go",
		snippet:  "			q.pause(ctx, pause)",
		instead:  "			q.pause(q.tasks.life, pause)",
		packages: []string{"./session"},
	},
	{
		name:     "followers of a replaced znode are not told",
		file:     "session/join.go",
		snippet:  "				a.displaced()\n				return nil",
		instead:  "				return nil",
		packages: []string{"./session"},
	},
	{
		name:     "what is withdrawn during a recovery is not withdrawn",
		file:     "recipe/intents.go",
		snippet:  "		if g.withdrawn(in) {\n			g.withdraw(in)",
		instead:  "		if g.withdrawn(in) && in.toldWanted == 0 {\n			g.withdraw(in)",
		packages: []string{"./recipe", "./test/losses"},
	},
	{
		name:     "a lost possession counts as released",
		file:     "recipe/possession.go",
		snippet:  "	return p.forfeited.Load() || !isReleased",
		instead:  "	return !isReleased",
		packages: []string{"./recipe"},
	},
	{
		name:     "a persistent znode that nobody wants stays",
		file:     "session/create.go",
		snippet:  "	again := e.ended && !g.closing",
		instead:  "	again := e.ended && g.closing",
		packages: []string{"./session"},
	},
	{
		name:     "a member that is back is not watched",
		file:     "recipes/group/observe.go",
		snippet:  "	if w.listing < o.listing {",
		instead:  "	if w.listing > o.listing {",
		packages: []string{"./recipes/group"},
	},
	{
		name:     "a barrier that may not be read is taken for down",
		file:     "recipes/barrier/barrier.go",
		snippet:  "		if !d.Stale && !d.Unread && (!d.Exists",
		instead:  "		if !d.Stale && (!d.Exists",
		packages: []string{"./recipes/barrier"},
	},
	{
		name:     "Revoke overwrites what was written meanwhile",
		file:     "recipes/lock/grant.go",
		snippet:  "znode.WithUnlock(data), stat.Version)",
		instead:  "znode.WithUnlock(data), stat.Version-stat.Version-1)",
		packages: []string{"./recipes/lock"},
	},
	{
		name:     "a refused check settles what a lost write has done",
		file:     "session/request.go",
		snippet:  "		case err == nil:\n			return ErrUnknownOutcome",
		instead:  "		case err == nil, definite(err):\n			return ErrUnknownOutcome",
		packages: []string{"./session"},
	},
	{
		name:     "what may not be read is fresh when the connection is back",
		file:     "session/subscription.go",
		snippet:  "		if w.known && !w.busy && w.tries == 0 {",
		instead:  "		if w.known && !w.busy {",
		packages: []string{"./session"},
	},
	{
		name:     "followers are told while the holder's write is under way",
		file:     "session/read.go",
		snippet:  "!n.hold.ended.Load() || n.hold.writes.Load() > 0 {",
		instead:  "!n.hold.ended.Load() {",
		packages: []string{"./session", "./recipes/election"},
	},
	{
		name:     "a transaction that the server gave up counts as refused",
		file:     "session/internal/zkconn/receive.go",
		snippet:  "		if undecided(part.Err) {",
		instead:  "		if undecided(part.Err) && i < 0 {",
		packages: []string{"./session/internal/zkconn"},
	},
	{
		name:     "a Downgrade is not told that its place is gone",
		file:     "recipe/grants.go",
		snippet:  "	g.ledger.failDowngrade(p, cause)\n	g.core.recall(p)",
		instead:  "	g.core.recall(p)",
		packages: []string{"./recipes/lock"},
	},
	{
		name:     "a Commit under an item does not check its version",
		file:     "recipes/queue/item.go",
		snippet:  "session.CheckOp(i.from.Item, i.from.Version)",
		instead:  "session.CheckOp(i.from.Item, -1)",
		packages: []string{"./recipes/queue"},
	},
	{
		name:     "an item is not overdue after an Ack that was refused",
		file:     "recipes/queue/deliver.go",
		snippet:  "	i.expire(in.queue.cfg.visibility)\n	if (i.Err()",
		instead:  "	if (i.Err()",
		packages: []string{"./recipes/queue"},
	},
	{
		name:     "a fence is checked with the leader alone",
		file:     "recipes/fence/check.go",
		snippet:  "s.SyncQuorum(ctx, path)",
		instead:  "s.Sync(ctx, path)",
		packages: []string{"./recipes/fence"},
	},
}
