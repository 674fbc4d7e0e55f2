// Package coders turns values into bytes and back, and says which types can be
// keys.
package coders
