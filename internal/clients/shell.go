package clients

import (
	"path/filepath"
	"slices"
	"strings"
)

// shells run a text.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox"}

// printers are commands whose words are what others read.
var printers = []string{"echo", "printf", "print"}

// credentialText returns why the text of a shell holds a credential or may: its
// commands are judged one by one, and what it feeds to one is not known.
func credentialText(text string) string {
	for _, command := range simpleCommands(text) {
		for i := range command {
			switch word := command[i]; {
			case i == 0:
			case command[i-1] == "<<<" && !strings.HasPrefix(word, "$"):
				return "feeds a text to a command"
			case slices.Contains(printers, filepath.Base(command[0])) && command[len(command)-1] == "|" && len(word) > 2 &&
				!strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "$") && !Harmless("", word):
				return "feeds a text to a command"
			default:
				if why := Credential(command, i); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// simpleCommands splits the text of a shell into commands and their words, without
// quotes. One whose output goes on ends in a word of its own, "|". Variables stand
// as they are.
func simpleCommands(text string) (list [][]string) {
	var command []string
	var word strings.Builder
	quote, open := rune(0), false
	end := func() {
		if open {
			command = append(command, word.String())
		}
		word.Reset()
		open = false
	}
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case r == '\\' && quote != '\'' && i+1 < len(runes):
			i++
			word.WriteRune(runes[i])
			open = true
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case strings.HasPrefix(string(runes[i:min(i+3, len(runes))]), "<<<"):
			end()
			command = append(command, "<<<")
			i += 2
		case r == '>' && i+1 < len(runes) && runes[i+1] == '&':
			i++ // another of its own outputs
		case strings.ContainsRune(";&|()\n><", r):
			end()
			if r == '|' || r == '>' {
				command = append(command, "|")
			}
			if len(command) > 0 {
				list = append(list, command)
			}
			command = nil
		case r == ' ' || r == '\t':
			end()
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if end(); len(command) > 0 {
		list = append(list, command)
	}
	return list
}
