package browser

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
)

// keyPress is a key with its names in events of the page.
type keyPress struct {
	key, code, text string
	number          int // of the key, as Windows counts
	modifiers       int
}

// namedKeys are the keys that are no characters.
var namedKeys = map[string]keyPress{
	"Enter": {text: "\r", number: 13}, "Tab": {number: 9}, "Escape": {number: 27}, "Backspace": {number: 8}, "Delete": {number: 46},
	"ArrowLeft": {number: 37}, "ArrowUp": {number: 38}, "ArrowRight": {number: 39}, "ArrowDown": {number: 40},
	"PageUp": {number: 33}, "PageDown": {number: 34}, "End": {number: 35}, "Home": {number: 36}, "Insert": {number: 45},
	"F1": {number: 112}, "F2": {number: 113}, "F3": {number: 114}, "F4": {number: 115}, "F5": {number: 116}, "F6": {number: 117},
	"F7": {number: 118}, "F8": {number: 119}, "F9": {number: 120}, "F10": {number: 121}, "F11": {number: 122}, "F12": {number: 123},
}

// modifierBits are the keys that are held while another one is pressed.
var modifierBits = map[string]int{"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}

// parseKey reads a key such as Enter, a or Control+Shift+ArrowLeft.
func parseKey(s string) (k keyPress, err error) {
	rest := s
	held := 0
	for {
		name, after, more := strings.Cut(rest, "+")
		bit := modifierBits[name]
		if !more || bit == 0 || after == "" {
			break
		}
		held, rest = held|bit, after
	}
	k, named := namedKeys[rest]
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case named:
		k.key, k.code = rest, rest
	case rest == "Space" || rest == " ":
		k = keyPress{key: " ", code: "Space", text: " ", number: 32}
	case size == len(rest) && r > ' ' && r != utf8.RuneError && r != 0x7f:
		k = keyPress{key: rest, text: rest}
		if upper := strings.ToUpper(rest); len(upper) == 1 && (upper[0] >= 'A' && upper[0] <= 'Z') {
			k.code, k.number = "Key"+upper, int(upper[0])
		} else if r >= '0' && r <= '9' {
			k.code, k.number = "Digit"+rest, int(r)
		}
	default:
		return k, sallyport.InputInvalid("no key has this name: one character, or a name such as Enter, Tab, Escape, ArrowDown, PageDown or F5, after Control+, Shift+, Alt+ or Meta+")
	}
	if k.modifiers = held; held&^modifierBits["Shift"] != 0 {
		k.text = "" // It is a command and no text.
	}
	return k, nil
}

// pressKey presses a key where the page has its focus, and lets it go.
func (t *tab) pressKey(ctx context.Context, k keyPress) error {
	e := object{"type": "rawKeyDown", "key": k.key, "code": k.code, "windowsVirtualKeyCode": k.number, "modifiers": k.modifiers}
	if k.text != "" {
		e["type"], e["text"] = "keyDown", k.text
	}
	if k.modifiers == modifierBits["Control"] {
		// What the keyboard of a desktop would make of it.
		if command := editCommands[k.key]; command != "" {
			e["commands"] = []string{command}
		}
	}
	if err := t.askBrowser(ctx, "Input.dispatchKeyEvent", e, nil); err != nil {
		return newFailure("cannot press the key", err)
	}
	e["type"] = "keyUp"
	delete(e, "text")
	delete(e, "commands")
	if err := t.askBrowser(ctx, "Input.dispatchKeyEvent", e, nil); err != nil {
		return newFailure("cannot press the key", err)
	}
	return nil
}

var editCommands = map[string]string{"a": "selectAll", "z": "undo", "y": "redo", "x": "cut", "c": "copy", "v": "paste"}
