package lock

import "sync"

// lookalikes lists, for a letter or digit, characters that are drawn alike.
// Source: the compatibility decompositions of UnicodeData.txt, and of
// confusables.txt (Unicode Technical Standard 39,
// https://www.unicode.org/Public/security/) a choice by hand of the rows of
// scripts in use on keyboards and in fonts everywhere: Greek, Cyrillic,
// Armenian, Cherokee, Coptic, Lisu and Latin letters of other shapes. Accented
// letters are other letters. What [asciiLookalike] computes by range is not listed.
// The characters of a row are in the order of their code points.
var lookalikes = [...]struct {
	ascii byte
	like  string
}{
	{'0', "\u2070\u2080\u24EA"},
	{'1', "\u00B9\u2081\u2460"},
	{'2', "\u00B2\u01A7\u2082\u2461\uA644"},
	{'3', "\u00B3\u01B7\u021C\u0417\u04E0\u2083\u2462"},
	{'4', "\u2074\u2084\u2463"},
	{'5', "\u01BC\u2075\u2085\u2464"},
	{'6', "\u0431\u2076\u2086\u2465"},
	{'7', "\u2077\u2087\u2466"},
	{'8', "\u0222\u0223\u2078\u2088\u2467"},
	{'9', "\u2079\u2089\u2468"},
	{'a', "\u00AA\u0251\u0391\u03B1\u0410\u0430\u13AA\u1D00\u1D2C\u1D43\u2090\uA4EE"},
	{'b', "\u0184\u0299\u0392\u0412\u042C\u13CF\u13F4\u1D2E\u1D47\u212C\uA4D0"},
	{'c', "\u03F2\u03F9\u0421\u0441\u13DF\u1D04\u1D9C\u2102\u212D\u216D\u217D\u2CA4\u2CA5\uA4DA\uA7F2\U0001F12B"},
	{'d', "\u0501\u13A0\u13E7\u1D05\u1D30\u1D48\u2145\u2146\u216E\u217E\uA4D2\uA4D3"},
	{'e', "\u0395\u0415\u0435\u04BD\u13AC\u1D31\u1D49\u2091\u212F\u2130\u2147\uA4F0"},
	{'f', "\u03DC\u1DA0\u2131\uA4DD\uA7F3"},
	{'g', "\u0261\u0262\u050C\u0581\u13C0\u1D33\u1D4D\u210A\uA4D6"},
	{'h', "\u029C\u02B0\u0397\u041D\u04BB\u0570\u13BB\u1D34\u2095\u210B\u210C\u210D\u210E\u2C8E\uA4E7"},
	{'i', "\u0131\u0269\u026A\u0399\u03B9\u0406\u0456\u04C0\u04CF\u13A5\u1D35\u1D62\u2071\u2110\u2111\u2139"},
	{'i', "\u2148\u2160\u2170\uA4F2"},
	{'j', "\u02B2\u03F3\u0408\u0458\u13AB\u1D36\u2149\u2C7C\uA4D9"},
	{'k', "\u039A\u03BA\u041A\u043A\u13E6\u1D0B\u1D37\u1D4F\u2096\u212A\u2C94\uA4D7"},
	{'l', "\u01C0\u029F\u02E1\u13DE\u1D38\u2097\u2112\u2113\u216C\u217C\u2CD0\uA4E1"},
	{'m', "\u039C\u041C\u043C\u13B7\u1D0D\u1D39\u1D50\u2098\u2133\u216F\u217F\u2C98\uA4DF"},
	{'n', "\u0274\u039D\u043F\u0578\u1D3A\u207F\u2099\u2115\u2C9A\uA4E0"},
	{'o', "\u00BA\u039F\u03BF\u03C3\u041E\u043E\u0555\u0585\u1D0F\u1D3C\u1D52\u2092\u2134\u2C9E\u2C9F\uA4F3"},
	{'p', "\u03A1\u03C1\u0420\u0440\u13E2\u1D18\u1D3E\u1D56\u209A\u2119\u2CA2\u2CA3\uA4D1"},
	{'q', "\u051A\u051B\u0563\u0566\u211A\uA7F4\U000107A5"},
	{'r', "\u0280\u02B3\u0433\u13A1\u1D26\u1D3F\u1D63\u211B\u211C\u211D\u2C85\uA4E3\U0001F12C"},
	{'s', "\u017F\u01BD\u02E2\u0405\u0455\u054F\u13DA\u209B\uA4E2\uA731"},
	{'t', "\u03A4\u03C4\u0422\u0442\u13A2\u1D1B\u1D40\u1D57\u209C\u2CA6\uA4D4"},
	{'u', "\u028B\u03C5\u054D\u057D\u1D1C\u1D41\u1D58\u1D64\uA4F4"},
	{'v', "\u03BD\u0474\u0475\u13D9\u1D20\u1D5B\u1D65\u2164\u2174\u2C7D\uA4E6"},
	{'w', "\u026F\u02B7\u0448\u0461\u051C\u051D\u0561\u13B3\u1D21\u1D42\uA4EA"},
	{'x', "\u02E3\u03A7\u03C7\u0425\u0445\u2093\u2169\u2179\u2CAC\uA4EB"},
	{'y', "\u028F\u02B8\u03A5\u03B3\u0423\u0443\u04AE\u04AF\u13A9\u2CA8\uA4EC"},
	{'z', "\u0396\u13C3\u1D22\u1DBB\u2124\u2128\uA4DC"},
}

// alike returns the table by character, built on first use.
var alike = sync.OnceValue(func() map[rune]byte {
	m := make(map[rune]byte, 512)
	for _, row := range lookalikes {
		for _, r := range row.like {
			m[r] = row.ascii
		}
	}
	return m
})
