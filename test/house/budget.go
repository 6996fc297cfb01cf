package main

// part is a part of the product: its folders with all below them that no other part names, and how
// many lines it may have.
type part struct {
	name    string
	folders []string
	budget  int
}

// parts are all folders with product code.
var parts = []part{
	{"session", []string{"session"}, 13867},
	{"gozk", []string{"gozk"}, 334},
	{"recipe, machine", []string{"recipe", "machine"}, 5866},
	{"recipes/internal", []string{"recipes/internal"}, 3487},
	{"recipes/lock, election, barrier", []string{"recipes/lock", "recipes/election", "recipes/barrier"}, 5111},
	{"recipes/queue", []string{"recipes/queue"}, 5291},
	{"recipes/twopc", []string{"recipes/twopc"}, 2772},
	{"recipes/group, config, naming, fence", []string{"recipes/group", "recipes/config", "recipes/naming", "recipes/fence"}, 2434},
	{"internal/zkserver", []string{"internal/zkserver"}, 6324},
	{"zktest", []string{"zktest"}, 2974},
	{"internal", []string{"internal", "."}, 3196},
	{"health, debug, telemetry", []string{"health", "debug", "telemetry"}, 934},
	{"actors, fxmodule, cmd", []string{"actors", "fxmodule", "cmd"}, 6388},
}

// sums are the product as a user has it: what a program with all recipes links, what its tests link
// besides, and commands and fx.
var sums = []part{
	{"linked", nil, 40846}, // go list tells the folders
	{"test tools", []string{"internal/zkserver", "zktest", "recipe/recipetest"}, 11205},
	{"commands and fx", []string{"cmd", "fxmodule", "health", "debug", "telemetry"}, 6440},
}

// wayTypes is how many types may have methods on the way of a held lock: see make way.
const wayTypes = 70

// most is how many methods a type may have; larger are types that have more today.
const most = 40

var larger = map[string]int{
	"internal/zkserver.Server": 90,
	"internal/zkserver.Front":  60,
}

// faceTypes and faceNames are how many types package session may export, and how many names in all.
// Identifiers that only recipes need are in internal/seam.
const faceTypes, faceNames = 28, 278

// What test/house/minimal may link, a program with a session and a lock: see
// docs/decisions/0049-what-a-lock-links.md. The packages and modules of today have room for four
// and one more; the bytes for two parts in a hundred, with that release of Go that makes more.
const linkedPackages, linkedModules, linkedBytes = 141, 32, 10_600_000

// layers are the folders of the root, from the ground up. A folder imports those before it.
var layers = []string{"internal", "machine", "actors", "session", "gozk", "recipe", "recipes", "zktest", "debug", "telemetry", "health", "fxmodule", "cmd"}

// upwards are today's imports against that order.
var upwards = map[string]int{}

// gone are names that say nothing to a reader who is new, with how often they are declared today.
var gone = map[string]int{
	"alike": 0, "anew": 0, "around": 0, "awake": 2, "beyond": 0, "book": 0, "crown": 0, "denial": 0, "dig": 0, "fall": 0, "forfeit": 0, "graves": 0,
	"grieve": 0, "heirs": 0, "hoard": 0, "inside": 0, "inVain": 0, "lain": 0, "letter": 0, "own": 8, "remains": 0, "sight": 0, "spent": 1,
	"starve": 0, "unnamed": 1, "vet": 0, "whole": 5, "wire": 3, "wish": 0, "witness": 0,
}

// failures is how many failures of other libraries are known. Each has a test with its number, in
// the test's name or in a comment, unless it cannot happen here: see
// docs/decisions/0006-failures-that-do-not-apply.md.
const failures = 76

var inapplicable = map[int]struct{}{16: {}, 73: {}}
