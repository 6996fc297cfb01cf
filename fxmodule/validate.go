package fxmodule

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/troupe-go/troupe/fxmodule/internal/development"
	"github.com/troupe-go/troupe/session"
)

// Validate reports all invalid fields, each with its name on a line of the error; nil if there are
// none. It reads the files that TLS names, and does not connect.
func (c Config) Validate() error {
	c = c.withDefaults()
	var f faults
	c.validateServers(&f)
	c.validateTimes(&f)
	if c.Startup != StartupWait && c.Startup != StartupLazy {
		f.add("Startup", fmt.Errorf("%q is neither %q nor %q", c.Startup, StartupWait, StartupLazy))
	}
	f.add("MaxPacket", refused(session.WithMaxPacket(c.MaxPacket)))
	c.validateRights(&f)
	c.TLS.validate(&f)
	return errors.Join(f...)
}

// faults are the invalid fields, each with its name.
type faults []error

// add records an invalid field, unless err is nil.
func (f *faults) add(field string, err error) {
	if err != nil {
		*f = append(*f, fmt.Errorf("fxmodule: Config.%s: %w", field, err))
	}
}

func (c Config) validateServers(f *faults) {
	switch {
	case len(c.Servers) > 0:
		f.add("Servers", valid(session.New(c.Servers)))
	case !c.Embedded:
		f.add("Servers", errors.New("none given, and Embedded is not set"))
	}
	if c.Namespace != "" {
		f.add("Namespace", refused(session.WithNamespace(c.Namespace)))
	}
	if c.Embedded && development.New == nil {
		f.add("Embedded", errors.New("the program does not import github.com/troupe-go/troupe/fxmodule/embedded, which has the server"))
	}
	if c.Embedded && len(c.Servers) > 0 {
		f.add("Embedded", errors.New("set together with Servers: give only one of the two"))
	}
	if c.Embedded && c.TLS.Enabled {
		f.add("Embedded", errors.New("the embedded server has no TLS, but TLS.Enabled is set"))
	}
	if c.EmbeddedListen != "" {
		if !c.Embedded {
			f.add("EmbeddedListen", errors.New("needs Embedded, which is not set"))
		}
		f.add("EmbeddedListen", listenable(c.EmbeddedListen))
	}
}

func (c Config) validateTimes(f *faults) {
	timeout := session.WithTimeout(time.Duration(c.Timeout))
	wrong := refused(timeout)
	f.add("Timeout", wrong)
	switch {
	case c.Tick == 0:
	case wrong != nil: // the tick alone can be checked
		f.add("Tick", refused(session.WithTimeout(time.Hour), session.WithTick(time.Duration(c.Tick))))
	default:
		f.add("Tick", refused(timeout, session.WithTick(time.Duration(c.Tick))))
	}
}

func (c Config) validateRights(f *faults) {
	if c.AuthScheme == "" && c.AuthSecret != "" {
		f.add("AuthScheme", errors.New("empty, but AuthSecret is given"))
	}
	if c.AuthScheme != "" && c.AuthSecret == "" {
		f.add("AuthSecret", errors.New("empty, but AuthScheme is given"))
	}
	if c.Private && c.AuthScheme == "" {
		f.add("Private", errors.New("without a credential no client could use the znodes"))
	}
}

// listenable finds mistakes in an address to listen on.
func listenable(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q: the port is not a number from 0 to 65535", address)
	}
	return nil
}

// refused is the error of session.New for options.
func refused(opts ...session.Option) error {
	return valid(session.New([]string{"localhost"}, opts...))
}

// valid tells whether a session could be created. The session was not connected, so closing it does
// not wait.
func valid(s *session.Session, err error) error {
	if err != nil {
		return err
	}
	return s.Close(context.Background()) // bounded: see above
}
