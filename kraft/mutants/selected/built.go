package selected

// Built reports whether this binary holds the mutants. The overlay replaces this file.
const Built = false
