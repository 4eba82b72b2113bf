//go:build race

package command

// raceEnabled is true with the race detector, under which everything takes ten
// times as long.
const raceEnabled = true
