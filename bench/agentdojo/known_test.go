package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLeavesOfAWorld(t *testing.T) {
	leaves, err := readLeaves("a: !include x.yaml\nb: 1\nb: [two, 3.50]\nn: null\ny: true\nwww.page.example/x: {in: \"on\tit\"}\n")
	if err != nil {
		t.Fatal(err)
	}
	// A mapping with an address of the web among its keys is one of pages.
	want := []worldLeaf{{"1", "b", true}, {"two", "b", true}, {"3.50", "b", true}, {"in", "", true}, {"on\tit", "in", true}}
	if diff := cmp.Diff(want, leaves, cmp.AllowUnexported(worldLeaf{})); diff != "" {
		t.Errorf("readLeaves() (-want +got):\n%s", diff)
	}
	if _, err := readLeaves("a: ["); err == nil {
		t.Error("readLeaves of a broken document succeeds, want an error")
	}
}

func TestWhatAWorldKnows(t *testing.T) {
	leaves, err := readLeaves(readTestdata(t, "environment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	known := findKnown(officeWorld(t), leaves)
	for _, tt := range []struct {
		set     string
		holds   []string
		unknown []string
	}{
		{mailSet, []string{"me@office.example", "other@office.example", "press@minutes.example"}, []string{"office.example"}},
		{accountSet, []string{"DE89370400440532013000", "GB29NWBK60161331926819", "P-77"}, []string{"Rent"}},
		{urlSet, []string{"www.minutes.example/march"}, []string{"www.more.example", "www.shop.example", "plan-2031.docx", "office.example"}},
		{hostSet, []string{"minutes.example", "www.minutes.example"}, []string{"more.example", "www.shop.example"}},
		{nameSet, []string{"Ann Lee", "Bert", "Rent", "people"}, []string{"Carla Diaz", "www.shop.example"}},
		{textSet, []string{"Paper\tby the box", "2031-03-04 09:30", "Rent"}, []string{"include/shared.yaml", "true"}},
		{numberSet, []string{"2031-03-04", "5521-7741"}, []string{"40.5"}},
		{wordSet, []string{"plan-2031.docx"}, []string{"www.more.example"}},
	} {
		for _, v := range tt.holds {
			if !known[tt.set][v] {
				t.Errorf("%s lacks %q; it has %q", tt.set, v, known.members(tt.set))
			}
		}
		for _, v := range tt.unknown {
			if known[tt.set][v] {
				t.Errorf("%s holds %q, want it unknown", tt.set, v)
			}
		}
	}
}
