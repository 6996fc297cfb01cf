package jute

// ConnectRequest opens a connection: SessionID 0 asks for a new session, another one asks to go on
// with it.
type ConnectRequest struct {
	Protocol     int32
	LastZxidSeen int64
	Timeout      int32 // ms
	SessionID    int64
	Password     []byte
	ReadOnly     bool
	Old          bool // the frame ends before the read-only flag, as those of old clients do; the response then does so too
}

// Encode writes the body of the frame.
func (c *ConnectRequest) Encode(w *Writer) {
	w.Int(c.Protocol)
	w.Long(c.LastZxidSeen)
	w.Int(c.Timeout)
	w.Long(c.SessionID)
	w.Buffer(c.Password)
	if !c.Old {
		w.Bool(c.ReadOnly)
	}
}

// Decode reads the body of the frame.
func (c *ConnectRequest) Decode(r *Reader) error {
	c.Protocol = r.Int()
	c.LastZxidSeen = r.Long()
	c.Timeout = r.Int()
	c.SessionID = r.Long()
	c.Password = r.Buffer()
	c.Old, c.ReadOnly = r.Len() == 0, false
	if !c.Old {
		c.ReadOnly = r.Bool()
	}
	return r.Err()
}

// ConnectResponse answers a ConnectRequest: SessionID 0 means that the session is expired.
type ConnectResponse struct {
	Protocol  int32
	Timeout   int32 // ms, as negotiated
	SessionID int64
	Password  []byte
	ReadOnly  bool
	Old       bool
}

// Encode writes the body of the frame.
func (c *ConnectResponse) Encode(w *Writer) {
	w.Int(c.Protocol)
	w.Int(c.Timeout)
	w.Long(c.SessionID)
	w.Buffer(c.Password)
	if !c.Old {
		w.Bool(c.ReadOnly)
	}
}

// Decode reads the body of the frame.
func (c *ConnectResponse) Decode(r *Reader) error {
	c.Protocol = r.Int()
	c.Timeout = r.Int()
	c.SessionID = r.Long()
	c.Password = r.Buffer()
	c.Old, c.ReadOnly = r.Len() == 0, false
	if !c.Old {
		c.ReadOnly = r.Bool()
	}
	return r.Err()
}
