// Package watches is the table of what a session watches in one epoch. It is pure: it decides which
// reads arm a watch, which clients are told of an event and when, and which watches are given back;
// requests, their answers and events pass through it. A [Table] is used by one goroutine at a time.
//
// ZooKeeper is asked for one watch for each path and kind, however many clients depend on it. When
// none does any more it is given back.
//
//	     Ask             Done                   no client needs it       sent            Removed
//	──────────▶ arming ─────────▶ armed ────────────────────────────▶ due ─────▶ removing ─────────▶ gone
//	               │  ▲            │  ▲  ◀─────────────────────────────│             │
//	        lost,  │  │ reads wait └──┘ Ask: read without watch   Ask           reads wait
//	  nothing there▼                  │
//	              gone                └─▶ Fire: every client is told, the entry is gone
package watches
