package main

// troupe doctor: what servers tell and what they do not, the trust that follows, and what crashed
// processes have left.

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/zkserver"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// words are the four-letter words that a server answers.
func words(all ...string) zktest.Option {
	return func(c *zkserver.Config) error {
		c.Words = all
		return nil
	}
}

const held = "/locks/a/_c_00000000-0000-4000-8000-000000000000-lock-0000000000"

func TestDoctorFindsNothingWrongWithHealthyServers(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		locked(t, t.SessionOn(2), "/locks/a")
		time.Sleep(time.Second) // it watches its znode by then
		golden(t, "doctor-healthy", []string{"doctor"}, []string{"doctor", "/locks", "--tick", "2s", "--watches"})
		out, _ := troupe(t, "doctor", "--limit", "1")
		require.Contains(t, out, "warning  /: stale or orphans: 0; znodes looked at: 1; not looked at: at least 2\n")
	}, zktest.WithServers(3))
}

func TestDoctorSaysWhichServersAreDown(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		t.Server.Kill(0)
		golden(t, "doctor-down", []string{"doctor"})
	}, zktest.WithServers(3))
	bubble.Run(t, func(t *bubble.World) {
		t.Server.Stop(1)
		t.Server.Kill(2)
		out := exits(t, 1, "doctor")
		require.Contains(t, out, "up, but in no quorum\n")
		require.Contains(t, out, "(server.N in zoo.cfg)? If the others serve: its log, its disk\n")
		require.Contains(t, out, "no answer: nothing within 3s")
		require.Contains(t, out, "problem  ensemble: servers that serve: 0 of 3; that lead or are standalone: 0: nothing can be read or written\n")
	}, zktest.WithServers(3))
}

func TestDoctorNamesTheSettingForWhatAServerDoesNotTell(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		must(t.Session().Create(bubble.Minute(t), "/e", nil, session.Ephemeral()))
		golden(t, "doctor-untold", []string{"doctor", "--watches"})
	}, words("ruok"))
}

func TestDoctorFindsStaleContendersAndOrphans(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const guid = "5f0c1a2b-0000-4000-8000-000000000000"
		require.NoError(t, t.Server.Load(strings.Join([]string{
			`{"path":"` + held + `"}`,
			`{"path":"/other/lock-0000000001"}`,
			`{"path":"/it's; reboot/n_0000000001"}`,
			`{"path":"/late","kind":"container"}`,
			`{"path":"/late/held","data":"42"}`,
			`{"path":"/pay/coordinators"}`,
			`{"path":"/pay/inbox/ledger/_c_` + guid + `-lock-0000000001"}`,
			`{"path":"/pay/tx/t-1/_c_` + guid + `-open"}`,
			`{"path":"/q/line/` + guid + `-0000000003"}`,
		}, "\n")))
		before := must(t.Server.Tree())
		golden(t, "doctor-stale", each("doctor\ndoctor /other -o json\ndoctor locks\ndoctor /no")...)
		exits(t, 5, "doctor", "--namespace", "/none")
		require.Equal(t, before, must(t.Server.Tree()), "nothing is changed, and no namespace made")
	})
}

// A coordinator may be alive behind a znode that may not be listed.
func TestDoctorDoubtsNoTransactionWhoseCoordinatorsItMayNotList(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		require.NoError(t, t.Server.Load(strings.Join([]string{
			`{"path":"/pay/coordinators","acl":[{"perms":"cdrwa","scheme":"digest","id":"bob:x"}]}`,
			`{"path":"/pay/tx/t-1/_c_5f0c1a2b-0000-4000-8000-000000000000-open"}`,
		}, "\n")))
		out := exits(t, 0, "doctor", "/pay")
		require.NotContains(t, out, "without a coordinator")
		require.Contains(t, out, "warning  /pay: stale or orphans: 0; znodes looked at: 4; not looked at: at least 1\n")
	})
}

// forged is a run of the doctor with another text in place of what servers answer to four-letter
// words.
func forged(t *bubble.World, forge func(word, answer string) string, flags ...string) (string, int) {
	var out text
	code := typed("").write(bubble.Minute(t), t, func(ctx context.Context, network, addr string) (net.Conn, error) {
		real, err := t.Server.Dialer()(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		here, there := net.Pipe()
		go func() { // ends with the connection
			defer there.Close()
			defer real.Close()
			word := make([]byte, 4)
			_, _ = io.ReadFull(there, word)
			_, _ = real.Write(word)
			text, _ := io.ReadAll(real)
			_, _ = io.WriteString(there, forge(string(word), string(text)))
		}()
		return here, nil
	}, &out, &out, append(flags, "doctor")...)
	return out.String(), code
}

func TestDoctorDoubtsAContenderWhoseSessionIsNotListed(t *testing.T) {
	t.Parallel()
	const untold = "warning  sessions: not told by the leader"
	for name, says := range map[string]string{
		"and has ended": "lock-0000000000: no server lists its session 0x", "and ends meanwhile": "ok       /: stale or orphans: 0",
		"by a follower, which may lag": untold, "by an answer that was cut": untold,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				l := must(lock.New(s, "/locks/a"))
				l.Acquire()
				synctest.Wait()
				out, code := forged(t, func(word, answer string) string {
					id := s.Status().SessionID
					switch {
					case word != "dump":
						return answer
					case name == "and ends meanwhile":
						t.Server.Expire(id)
					case strings.Contains(name, "follower"):
						answer = strings.ReplaceAll(answer, "Session Sets (", "Global Sessions(")
					case strings.Contains(name, "cut"):
						return answer[:30]
					}
					return strings.ReplaceAll(answer, "\t"+sessionID(id).String()+"\n", "")
				})
				require.Contains(t, out, says)
				require.Equal(t, name == "and has ended", code != 0, out)
			})
		})
	}
}

func TestDoctorTellsAsJSONWhateverServersSay(t *testing.T) {
	t.Parallel()
	for latency, want := range map[string]*latency{"0/0.5/12": {0, 0.5, 12}, "NaN/0/0": nil, "0/-Inf/0": nil, "0/0/+Inf": nil, "0/0/1e999": nil} {
		t.Run(latency, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				out, code := forged(t, func(word, answer string) string {
					if word == "srvr" {
						return "Mode: standalone\nLatency min/avg/max: " + latency + "\n"
					}
					return answer
				}, "-o", "json")
				require.Zero(t, code, out)
				var all []finding
				require.NoError(t, json.Unmarshal([]byte(out), &all))
				require.Equal(t, want, all[0].Latency)
			})
		})
	}
}

func TestDoctorDoesNotTrustWhatServersSay(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		out, _ := forged(t, func(word, answer string) string {
			if word == "srvr" {
				return "Mode: leader\nZookeeper version: 3.8\x1b[2J, built\nLatency min/avg/max: \a\n"
			}
			return answer
		})
		require.Contains(t, out, "troupe: there are problems\n")
		require.Contains(t, out, `leader, version 3.8\x1b[2J, tick 2000 ms`)
		require.Contains(t, out, "problem  ensemble: servers that serve: 3 of 3; that lead or are standalone: 3: not one ensemble\n")
		require.NotContains(t, out, "\x1b")
	}, zktest.WithServers(3))
}

func TestDoctorComparesWhatServersTell(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		asked := map[string]int{}
		first := func(of, says string) (string, int) {
			clear(asked)
			return forged(t, func(word, answer string) string {
				if asked[word]++; word == of && asked[word] == 1 {
					return says
				}
				return answer
			})
		}
		out, code := first("conf", "conf is not executed because it is not in the whitelist.\n")
		require.Zero(t, code)
		require.Contains(t, out, "warning  192.0.2.1:2181: does not tell conf\n")
		require.NotContains(t, out, "not all the same")
		out, _ = first("srvr", "Zookeeper version: 3.7.2-8, built\nMode: follower\n")
		require.Regexp(t, `not all the same: 3.7.2 on 192.0.2.1:2181; [0-9.]+ on 192.0.2.2:2181, 192.0.2.3:2181\n`, out)
	}, zktest.WithServers(3))
}

// The known defects of each version are in docs/operations.md.
func TestDoctorNamesTheFaultsOfAVersion(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		for version, fault := range map[string]string{
			"3.9.3": "ZOOKEEPER-4925", "3.9.2": "ZOOKEEPER-4394", "3.9.1": "ZOOKEEPER-4643.*-4785.*-4394", "3.8.4": "ZOOKEEPER-4643.*-4394", "3.4.14": "ZOOKEEPER-4643.*-4394",
			"3.9.4": "", "3.9.10": "", "3.10.0": "", "4.0.0": "", "3.9": "", "unheard of": "",
		} {
			out, code := forged(t, func(word, answer string) string {
				if word == "srvr" {
					return "Zookeeper version: " + version + "-5, built\nMode: standalone\n"
				}
				return answer
			})
			require.Zero(t, code, "a version that is known for something is no problem yet")
			if fault == "" {
				require.NotContains(t, out, "ZOOKEEPER-", version)
				continue
			}
			require.Regexp(t, `(?m)^warning  \S+: version `+version+`: .*`+fault+`.*\n +> 3\.9\.4 or later`, out)
		}
	})
}

func TestDoctorSaysWhenTrustIsTooLong(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		for _, c := range []struct {
			timeout, tick, says string
		}{
			{"4s", "0", "trusted for 2s after the last proof of life was sent, which is too long for the servers' tick\n" +
				"         > --tick 2s, session.WithTick: trusted for 1s\n"},
			{"10s", "1s", "problem  session: timeout 10s, asked for 10s: what is held is trusted for 6.666s"},
			{"10s", "3s", "ok       session: timeout 10s, asked for 10s: what is held is trusted for 5.5s"},
		} {
			out, _ := troupe(t, "doctor", "--session-timeout", c.timeout, "--tick", c.tick)
			require.Contains(t, out, c.says)
		}
	})
}

// The doctor computes what the session does.
func TestDoctorKnowsForHowLongASessionTrusts(t *testing.T) {
	t.Parallel()
	for _, tick := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
		bubble.Run(t, func(t *bubble.World) {
			opts := []session.Option{session.WithTimeout(10 * time.Second)}
			if tick > 0 {
				opts = append(opts, session.WithTick(tick))
			}
			s := t.Session(opts...)
			l := must(lock.New(s, "/locks/a"))
			l.Acquire()
			longest := time.Duration(0)
			for range 1000 {
				time.Sleep(10 * time.Millisecond) // in virtual time
				longest = max(longest, time.Until(s.Status().TrustedUntil))
			}
			require.Equal(t, trust(10*time.Second, tick).Round(100*time.Millisecond), longest.Round(100*time.Millisecond))
		}, zktest.WithTick(cmp.Or(tick, 2*time.Second)))
	}
}

// Contenders of living sessions that only their processes can explain are listed: a GUID twice in a
// queue; one that is first for more than an hour while others wait.
func TestDoctorListsContendersThatNobodyMayMind(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		stand := func(names ...string) {
			for _, name := range names {
				must(s.Create(bubble.Minute(t), name, nil, session.Ephemeral(), session.Sequential(), session.Parents()))
			}
		}
		const a, b = "/_c_5f0c1a2b-0000-4000-8000-00000000000a-", "/_c_5f0c1a2b-0000-4000-8000-00000000000b-"
		stand("/twice"+a+"lock-", "/twice"+b+"lock-", "/twice"+a+"lock-", "/stood"+a+"lock-", "/stood/lock-", "/led"+a+"n_", "/led"+b+"n_")
		require.NoError(t, t.Server.Load(`{"path":"/free","data":"3"}`+"\n"+`{"path":"/full","data":"2"}`))
		stand("/free"+a+"lease-", "/free"+b+"lease-", "/full"+a+"lease-", "/full"+b+"lease-", "/full/lease-", "/untold"+a+"lease-", "/untold"+b+"lease-")
		stand("/shared"+a+"read-", "/shared"+b+"read-", "/shared/write-")
		stand("/alone"+a+"lock-", "/readers"+a+"read-", "/readers"+b+"read-", "/pay/inbox/ledger"+a+"lock-", "/pay/inbox/ledger"+a+"lock-")
		lists := func() (found []string) {
			out, _ := troupe(t, "doctor")
			for line := range strings.Lines(out) {
				if strings.Contains(line, "5f0c1a2b") && !strings.Contains(line, "> ") {
					found = append(found, regexp.MustCompile(`/_c_[^:]*`).ReplaceAllString(line, ""))
				}
			}
			return found
		}
		twice := "problem  /twice: its GUID is in this queue twice, here and in _c_5f0c1a2b-0000-4000-8000-00000000000a-lock-0000000002\n"
		time.Sleep(59 * time.Minute)
		require.Equal(t, []string{twice}, lists())
		time.Sleep(2 * time.Minute)
		stand("/late"+a+"lock-", "/late"+b+"lock-")
		found := strings.Join(lists(), "")
		require.Regexp(t, `^(warning  /full: queued .*\n){2}`+
			`ok       /led: queued 2000-\S+\+01:00 \(\S+ ago\), first in the queue, and others wait; its session 0x\w+ lives\n`+
			`(warning  /shared: queued .*\n){2}warning  /stood: queued .*\n`+regexp.QuoteMeta(twice)+`$`, found)
		out := exits(t, 0, "doctor", "/led", "/stood")
		require.Contains(t, out, "troupe election break '/led/_c_")
		require.Contains(t, out, "troupe lock break '/stood/_c_")
	})
}
