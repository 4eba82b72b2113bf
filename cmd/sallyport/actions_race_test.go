//go:build race

package main

// raceEnabled says that everything takes ten times as long.
const raceEnabled = true
