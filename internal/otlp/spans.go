package otlp

import (
	"time"

	"github.com/sallyport/sallyport/internal/tracing"
)

// Fields of opentelemetry.proto.common.v1 and resource.v1.
const (
	keyName, keyValue       field = 1, 2
	valueText, valueNumber  field = 1, 3
	scopeName, scopeVersion field = 1, 2
	resourceAttrs           field = 1
)

// Fields of opentelemetry.proto.trace.v1, and of the request that exports it.
const (
	requestResources                                                field = 1
	resourceItself, resourceScopes, resourceSchema                  field = 1, 2, 3
	scopeItself, scopeItems, scopeSchema                            field = 1, 2, 3
	spanTrace, spanID, spanState, spanParent, spanName, spanKind    field = 1, 2, 3, 4, 5, 6
	spanStart, spanEnd, spanAttrs, spanLinks, spanStatus, spanFlags field = 7, 8, 9, 13, 15, 16
	linkTrace, linkID, linkState, linkFlags                         field = 1, 2, 3, 6
	statusCode                                                      field = 3
)

// Values of fields.
const (
	statusFailed  = 2
	flagSampled   = 1
	flagsKnown    = 0x100 // whether the parent is remote
	flagsIsRemote = 0x200
)

// Source says which program exports.
type Source struct {
	// Version is that of the program, and Instance tells this process from others.
	Version, Instance string
}

// appendResource appends the resource, which every export names.
func (s *Source) appendResource(b []byte) []byte {
	return resourceItself.appendMessage(b, func(b []byte) []byte {
		b = appendAttr(b, resourceAttrs, &tracing.Attr{Key: tracing.KeyServiceName, Text: tracing.ServiceName})
		b = appendAttr(b, resourceAttrs, &tracing.Attr{Key: tracing.KeyServiceVersion, Text: s.Version})
		return appendAttr(b, resourceAttrs, &tracing.Attr{Key: tracing.KeyServiceInstance, Text: s.Instance})
	})
}

// appendScope appends the scope of what follows.
func (s *Source) appendScope(b []byte) []byte {
	return scopeItself.appendMessage(b, func(b []byte) []byte {
		return scopeVersion.appendText(scopeName.appendText(b, tracing.ScopeName), s.Version)
	})
}

// appendCalls appends the request that exports the spans of calls.
func (s *Source) appendCalls(b []byte, calls []*tracing.Call) []byte {
	return requestResources.appendMessage(b, func(b []byte) []byte {
		b = resourceScopes.appendMessage(s.appendResource(b), func(b []byte) []byte {
			b = s.appendScope(b)
			for _, c := range calls {
				for i, span := range c.Spans() {
					var link *tracing.Parent
					if i == 0 && c.Request != nil {
						link = &c.Request.Link
					}
					b = scopeItems.appendMessage(b, func(b []byte) []byte { return appendSpan(b, span, i == 0, link) })
				}
			}
			return scopeSchema.appendText(b, tracing.SchemaURL)
		})
		return resourceSchema.appendText(b, tracing.SchemaURL)
	})
}

// appendSpan appends one span. The parent of the span of a call is remote.
func appendSpan(b []byte, s *tracing.Span, isRoot bool, link *tracing.Parent) []byte {
	b = spanID.appendBytes(spanTrace.appendBytes(b, s.Trace[:]), s.ID[:])
	b = spanState.appendText(b, s.State)
	flags := uint32(flagSampled | flagsKnown)
	if s.Parent != [8]byte{} {
		b = spanParent.appendBytes(b, s.Parent[:])
		if isRoot {
			flags |= flagsIsRemote
		}
	}
	b = spanKind.appendNumber(spanName.appendText(b, s.Name), uint64(s.Kind))
	b = spanEnd.appendFixed(spanStart.appendFixed(b, unixNano(s.Start)), unixNano(s.End))
	for i := range s.Attrs {
		b = appendAttr(b, spanAttrs, &s.Attrs[i])
	}
	if link != nil && !link.IsZero() {
		b = spanLinks.appendMessage(b, func(b []byte) []byte {
			b = linkID.appendBytes(linkTrace.appendBytes(b, link.Trace[:]), link.Span[:])
			return linkFlags.appendFlags(linkState.appendText(b, link.State), flagsKnown|flagsIsRemote)
		})
	}
	if s.Failed {
		b = spanStatus.appendMessage(b, func(b []byte) []byte { return statusCode.appendNumber(b, statusFailed) })
	}
	return spanFlags.appendFlags(b, flags)
}

// appendAttr appends an attribute.
func appendAttr(b []byte, f field, a *tracing.Attr) []byte {
	return f.appendMessage(b, func(b []byte) []byte {
		return keyValue.appendMessage(keyName.appendText(b, a.Key), func(b []byte) []byte {
			if a.Text == "" {
				return valueNumber.appendNumber(b, uint64(a.Number))
			}
			return valueText.appendText(b, a.Text)
		})
	})
}

// unixNano returns a time as OTLP has it.
func unixNano(t time.Time) uint64 { return uint64(max(t.UnixNano(), 0)) }
