package file

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
)

// The encodings of the tools' arguments.
const (
	encodingUTF8    = "utf-8"
	encodingLatin1  = "latin1"
	encodingUTF16   = "utf-16"
	encodingUTF16LE = "utf-16le"
	encodingUTF16BE = "utf-16be"
	encodingBase64  = "base64"
)

// sniffBytes is how much of a file is searched for a NUL byte to tell binary
// from text, the figure and the rule of git (buffer_is_binary).
const sniffBytes = 8000

// The byte order marks.
const (
	bomUTF8    = "\xef\xbb\xbf"
	bomUTF16LE = "\xff\xfe"
	bomUTF16BE = "\xfe\xff"
)

type decodedText struct {
	content string
	// encoding is the name of what was decoded.
	encoding string
	// note says what a reader of the content should know; it may be empty.
	note string
}

// decodeText decodes a file as asked, or as it looks when encoding is empty.
// The second result is false for content that is not text.
func decodeText(data []byte, encoding string) (decodedText, bool, error) {
	switch encoding {
	case "":
		t, ok := detectText(data)
		return t, ok, nil
	case encodingUTF8:
		body := bytes.TrimPrefix(data, []byte(bomUTF8))
		t := decodedText{content: string(body), encoding: encodingUTF8}
		if !utf8.Valid(body) {
			t.content = strings.ToValidUTF8(t.content, "\ufffd")
			t.note = "bytes that are not UTF-8 are shown as \ufffd"
		}
		return t, true, nil
	case encodingLatin1:
		return decodedText{content: decodeLatin1(data), encoding: encodingLatin1}, true, nil
	case encodingUTF16, encodingUTF16LE, encodingUTF16BE:
		return decodeUTF16(data, encoding), true, nil
	case encodingBase64:
		return decodedText{content: base64.StdEncoding.EncodeToString(data), encoding: encodingBase64}, true, nil
	default:
		return decodedText{}, false, sallyport.InputInvalid(fmt.Sprintf("encoding %q is not one of %s", encoding, strings.Join(readEncodings(), ", ")))
	}
}

func readEncodings() []string {
	return []string{encodingUTF8, encodingLatin1, encodingUTF16, encodingUTF16LE, encodingUTF16BE, encodingBase64}
}

// detectText looks at byte order marks first, then for NUL bytes, then at the
// bytes themselves. What is neither UTF-8 nor binary is shown as Latin-1,
// which loses nothing.
func detectText(data []byte) (decodedText, bool) {
	switch {
	case bytes.HasPrefix(data, []byte(bomUTF8)) && utf8.Valid(data):
		return decodedText{content: string(data[len(bomUTF8):]), encoding: encodingUTF8, note: "the file begins with a byte order mark"}, true
	case bytes.HasPrefix(data, []byte(bomUTF16LE)), bytes.HasPrefix(data, []byte(bomUTF16BE)):
		return decodeUTF16(data, encodingUTF16), true
	case bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0:
		return decodedText{}, false
	case utf8.Valid(data):
		return decodedText{content: string(data), encoding: encodingUTF8}, true
	default:
		return decodedText{content: decodeLatin1(data), encoding: encodingLatin1, note: "not UTF-8, decoded as Latin-1"}, true
	}
}

// decodeLatin1 maps each byte to the character of the same number (ISO 8859-1).
func decodeLatin1(data []byte) string {
	var b strings.Builder
	b.Grow(len(data) + len(data)/8)
	for _, c := range data {
		b.WriteRune(rune(c))
	}
	return b.String()
}

// decodeUTF16 decodes by the byte order mark, else by the name, else as
// little-endian, which is what files without a mark are in practice.
func decodeUTF16(data []byte, encoding string) decodedText {
	var order binary.ByteOrder = binary.LittleEndian
	t := decodedText{encoding: encodingUTF16LE}
	if encoding == encodingUTF16BE || bytes.HasPrefix(data, []byte(bomUTF16BE)) {
		order, t.encoding = binary.BigEndian, encodingUTF16BE
	}
	if bytes.HasPrefix(data, []byte(bomUTF16LE)) || bytes.HasPrefix(data, []byte(bomUTF16BE)) {
		data = data[2:]
	}
	if len(data)%2 == 1 {
		t.note = "the last byte is half a character and left out"
	}
	var b strings.Builder
	b.Grow(len(data) / 2)
	for len(data) > 1 {
		r := rune(order.Uint16(data))
		data = data[2:]
		if utf16.IsSurrogate(r) {
			low := rune(utf8.RuneError)
			if len(data) > 1 {
				low = rune(order.Uint16(data))
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				data = data[2:]
			}
		}
		b.WriteRune(r)
	}
	t.content = b.String()
	return t
}

// binarySignatures are the first bytes of common binary formats, from the
// table of the WHATWG MIME Sniffing Standard and the formats' own
// specifications.
var binarySignatures = [][2]string{
	{"%PDF-", "application/pdf"},
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
	{"BM", "image/bmp"},
	{"\x00\x00\x01\x00", "image/vnd.microsoft.icon"},
	{"PK\x03\x04", "application/zip"},
	{"\x1f\x8b\x08", "application/gzip"},
	{"BZh", "application/x-bzip2"},
	{"\xfd7zXZ\x00", "application/x-xz"},
	{"\x28\xb5\x2f\xfd", "application/zstd"},
	{"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"},
	{"\x7fELF", "application/x-elf"},
	{"MZ", "application/vnd.microsoft.portable-executable"},
	{"\xcf\xfa\xed\xfe", "application/x-mach-binary"},
	{"\x00asm", "application/wasm"},
	{"SQLite format 3\x00", "application/vnd.sqlite3"},
	{"OggS\x00", "application/ogg"},
	{"ID3", "audio/mpeg"},
	{"fLaC", "audio/flac"},
	{"wOFF", "font/woff"},
	{"wOF2", "font/woff2"},
}

func binaryType(data []byte) string {
	if len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP" {
		return "image/webp"
	}
	if len(data) >= 12 && string(data[4:8]) == "ftyp" {
		return "video/mp4"
	}
	for _, s := range binarySignatures {
		if bytes.HasPrefix(data, []byte(s[0])) {
			return s[1]
		}
	}
	return "application/octet-stream"
}
