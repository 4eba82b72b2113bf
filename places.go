package sallyport

// Places decides where the paths of a configuration lead. A grant is for the
// place to which its path leads, not for how it is spelled: a symbolic link that
// only an operator can have made is followed once, and from the first folder on
// in which tools may write a granted path must be free of links. It must be safe
// for concurrent use.
type Places interface {
	// Place says where an absolute, clean path leads at this moment. It looks at
	// the disk and changes nothing.
	Place(path string) Place
	// Revision changes whenever a path may lead elsewhere than before.
	Revision() uint64
}

// Place is where a path of a configuration leads.
type Place struct {
	// Path is absolute and clean, and must be opened without following any
	// symbolic link. It is empty when the path leads nowhere that can be granted.
	Path string
	// Ground is the folder or file around Path, or Path itself, in which tools
	// may write; empty when there is none.
	Ground string
	// Why says why nothing at Path is granted at this moment, for the operator;
	// empty when it is. What it quotes of the disk is escaped.
	Why string
	// Fix is the edit that would turn Why around; it never spells where a link
	// leads, which an agent may have chosen.
	Fix string
}
