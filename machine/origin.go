package machine

func (e List) numbered(epoch, ask uint64) Effect      { e.Epoch, e.Ask = epoch, ask; return e }
func (e Read) numbered(epoch, ask uint64) Effect      { e.Epoch, e.Ask = epoch, ask; return e }
func (e MultiRead) numbered(epoch, ask uint64) Effect { e.Epoch, e.Ask = epoch, ask; return e }
func (e Transact) numbered(epoch, ask uint64) Effect  { e.Epoch, e.Ask = epoch, ask; return e }
func (e Ensure) numbered(epoch, ask uint64) Effect    { e.Epoch, e.Ask = epoch, ask; return e }
func (e Remove) numbered(epoch, ask uint64) Effect    { e.Epoch, e.Ask = epoch, ask; return e }
func (e Enter) numbered(epoch, ask uint64) Effect     { e.Epoch, e.Ask = epoch, ask; return e }
func (e Record) numbered(epoch, ask uint64) Effect    { e.Epoch, e.Ask = epoch, ask; return e }
func (e Wake) numbered(_, ask uint64) Effect          { e.Ask = ask; return e }

// origin tells what an event stems from: the number of the request that it answers, 0 if it answers
// none by number, and the epoch, if it is dated. The beginning of an epoch is not.
func origin(ev Event) (epoch, ask uint64, dated bool) {
	switch ev := ev.(type) {
	case Listed:
		return ev.Epoch, ev.Ask, true
	case Seen:
		return ev.Epoch, ev.Ask, true
	case MultiSeen:
		return ev.Epoch, ev.Ask, true
	case Transacted:
		return ev.Epoch, ev.Ask, true
	case Ensured:
		return ev.Epoch, ev.Ask, true
	case Removed:
		return ev.Epoch, ev.Ask, true
	case Recorded:
		return ev.Epoch, ev.Ask, true
	case Woke:
		return 0, ev.Ask, false
	}
	epoch, dated = noticed(ev)
	return epoch, 0, dated
}

// noticed is the epoch of an event that answers no request by number.
func noticed(ev Event) (epoch uint64, dated bool) {
	switch ev := ev.(type) {
	case EpochEnded:
		return ev.Epoch, true
	case Suspended:
		return ev.Epoch, true
	case Resumed:
		return ev.Epoch, true
	case TrustEnded:
		return ev.Epoch, true
	case TrustGained:
		return ev.Epoch, true
	case Fired:
		return ev.Epoch, true
	case Entered:
		return ev.Epoch, true
	case Downgraded:
		return ev.Epoch, true
	}
	return 0, false
}
