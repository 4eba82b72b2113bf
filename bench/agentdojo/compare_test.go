package main

import "testing"

func TestPlacesThatAreKnown(t *testing.T) {
	leaves, err := readLeaves(readTestdata(t, "environment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	known := findKnown(officeWorld(t), leaves)
	for _, tt := range []struct {
		set, value string
		want       bool
	}{
		{urlSet, "https://minutes.example/march/", true},
		{urlSet, "www.minutes.example/march?d=1", false},
		{urlSet, "www.minutes.example", false},
		{accountSet, "gb29 nwbk 6016-1331-9268-19", true},
		{accountSet, "GB29NWBK60161331926818", false},
		{mailSet, "Me@Office.example", true},
		{mailSet, "me@office.example.org", false},
	} {
		if got := known.holds(tt.set, tt.value); got != tt.want {
			t.Errorf("holds(%s, %q) = %v, want %v", tt.set, tt.value, got, tt.want)
		}
	}
}
