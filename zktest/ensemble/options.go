package ensemble

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// Option changes how the servers of an ensemble are set up.
type Option func(*settings) error

type settings struct {
	config map[string]string // properties of zoo.cfg
	jvm    []string
	files  map[string]string // additional files in each server's folder
	ports  bool              // one loopback address, many ports: what systems other than Linux have
}

func newSettings(opts []Option) (settings, error) {
	s := settings{files: make(map[string]string), config: map[string]string{
		"tickTime":                "200",
		"initLimit":               "50",
		"syncLimit":               "25",
		"minSessionTimeout":       "400",
		"maxSessionTimeout":       "60000",
		"maxClientCnxns":          "0", // the default of 60 from one address is too few for a test
		"4lw.commands.whitelist":  "*",
		"admin.enableServer":      "false",
		"extendedTypesEnabled":    "true", // TTL znodes
		"autopurge.purgeInterval": "0",
	}}
	for _, opt := range opts {
		if opt == nil {
			return settings{}, errors.New("ensemble: nil Option")
		}
		if err := opt(&s); err != nil {
			return settings{}, err
		}
	}
	return s, nil
}

// WithTick sets tickTime, ZooKeeper's unit of time: whole milliseconds, 200 ms by default. It does
// not change the bounds of session timeouts.
func WithTick(tick time.Duration) Option {
	return func(s *settings) error {
		if tick < time.Millisecond || tick%time.Millisecond != 0 {
			return fmt.Errorf("ensemble: WithTick(%v): not a positive number of whole milliseconds", tick)
		}
		s.config["tickTime"] = strconv.FormatInt(tick.Milliseconds(), 10)
		return nil
	}
}

// WithSyncLimit sets for how many ticks a follower waits for its leader before it gives it up, 25
// by default. An isolated server goes on serving its clients for that time.
func WithSyncLimit(ticks int) Option {
	return func(s *settings) error {
		if ticks < 1 {
			return fmt.Errorf("ensemble: WithSyncLimit(%d): not positive", ticks)
		}
		s.config["syncLimit"] = strconv.Itoa(ticks)
		return nil
	}
}

// WithConfig sets another property of zoo.cfg on all servers.
func WithConfig(key, value string) Option {
	return func(s *settings) error {
		if key == "" {
			return errors.New("ensemble: WithConfig: no key")
		}
		s.config[key] = value
		return nil
	}
}

// WithJVM adds options of the Java virtual machine, such as -Xmx1g or -Djute.maxbuffer=4194304.
// They override the defaults.
func WithJVM(flags ...string) Option {
	return func(s *settings) error {
		s.jvm = append(s.jvm, flags...)
		return nil
	}
}

// WithFile puts a file into each server's data folder before the server starts.
// "version-2/snapshot.0" is the initial state.
func WithFile(name, content string) Option {
	return func(s *settings) error {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("ensemble: WithFile(%q): not a path within a folder", name)
		}
		s.files[name] = content
		return nil
	}
}
