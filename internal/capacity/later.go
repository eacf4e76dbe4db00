package capacity

// later begins to do something at once and returns a function that waits for
// what comes of it. A story of calls written with it reads from top to bottom,
// and a call waits for no other than those whose answers it uses.
func later[T any](do func() (T, error)) func() (T, error) {
	var answer T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer, err = do()
	}()
	return func() (T, error) {
		<-done
		return answer, err
	}
}
