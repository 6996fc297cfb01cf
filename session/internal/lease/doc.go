// Package lease computes until when a session may assume that ZooKeeper has not ended it: its
// lease. The package is pure: moments come from outside, and the session acts on the end of a
// lease. The reasons for its rules are in docs/sessions.md, and in decisions 3 and 17.
//
//	Begin ──▶ no proof yet ── Proved ──▶ stands ── Check: the end has come, or a clock has jumped ──▶ expired
//	                                      │  ▲                                                          │
//	                                      └──┘ Proved: later                       Proved: stands again ┘
package lease
