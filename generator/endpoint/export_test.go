package endpoint

// What the references of all protocols read alike.
var (
	ReferenceCount  = referenceCount
	ReferenceDepth  = referenceDepth
	ReferenceTruthy = referenceTruthy
)
