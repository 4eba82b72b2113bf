package siem

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/schema"
)

// attestation ties an event to its place in the record, and lets a reader find that it was
// altered by accident. It has no signature: the schema has no attribute for one's bytes, and the
// key of the record is not for those who read the copy.
type attestation struct {
	ChainUID    string       `json:"chain_uid,omitempty"` // the id of the key of the chain
	Fingerprint *fingerprint `json:"fingerprint,omitempty"`
	Prev        *prevEvent   `json:"prev_event,omitempty"` // nil for the first record
}

// fingerprint is a hash over the event in canonical JSON (RFC 8785), with its attestation and
// without the fingerprint.
type fingerprint struct {
	Algorithm       string `json:"algorithm"`
	AlgorithmID     int    `json:"algorithm_id"` // 3 SHA-256
	Encoding        string `json:"encoding"`
	EncodingID      int    `json:"encoding_id"` // 1 Hex
	Serialization   string `json:"serialization"`
	SerializationID int    `json:"serialization_id"` // 2 JCS
	Value           string `json:"value"`
}

// prevEvent is the event of the record before. Its own fingerprint is not repeated: it would
// depend on that of every event before it, and so on where an export begins. The hash of its
// record is in the uid.
type prevEvent struct {
	UID     string `json:"uid"`
	TypeUID int    `json:"type_uid"`
}

// ocsfLine writes a record as an event with its attestation.
func ocsfLine(e *audit.Event, head, before audit.Head, version string) (string, error) {
	o := ocsfEvent(e, head.Hash, version)
	o.Attestation = &attestation{ChainUID: e.KeyID}
	if before.Seq > 0 {
		o.Attestation.Prev = &prevEvent{before.String(), typeOther}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	// The text is decoded as a reader will decode it, so that both hash the same.
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var all schema.Document
	if err := d.Decode(&all.Value); err != nil {
		return "", err
	}
	sum := sha256.Sum256(all.Canonical())
	o.Attestation.Fingerprint = &fingerprint{"SHA-256", 3, "Hex", 1, "JCS", 2, hex.EncodeToString(sum[:])}
	text, err = json.Marshal(o)
	return string(text), err
}
