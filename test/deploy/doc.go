// Package deploy checks the files of the folder deploy: each is decoded strictly, manifests into
// the types of Kubernetes, and what one file says of another, or of the example, is compared. It is
// a module of its own, so that nothing else links those types. Nothing is started.
package deploy
