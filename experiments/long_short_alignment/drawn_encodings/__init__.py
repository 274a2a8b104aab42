"""Does misalignment within the training length predict failure beyond it, over encodings drawn from a distribution?

Seven encodings could never decide that (claims T1 and S: a lead of 0.2 takes about 52). So sixty are drawn
(``draw``), each trained under three seeds. An encoding is one observation, the mean over its seeds; correlations are by
ranks. There are two studies, judged apart: a language model on text, and number tasks, each task by itself.

The measures are the lab's own, not scaled and scaled. On text: the symmetric cross-entropy of equation 2, its part
beyond entropy, and that part relative to the entropy. On numbers: the Wasserstein distance between outputs at two
training lengths, as it is and in standard deviations of the outputs.

Predictions, written before the runs:

1. On text the part beyond entropy correlates with the loss after 3 to 4 training lengths, whichever family of encodings
   is left out. The symmetric cross-entropy, nearly all of which is entropy, does not.
2. On text no form leads the loss within the training length on that outcome in every part of the encodings: a lead
   over all sixty disappears without the encodings that add vectors of absolute positions.
3. On numbers no form predicts the error at five training lengths among models that fit: these have the targets'
   distance between lengths, and what is left is noise, whose sign hangs on the scaling.

What would refute them: (1) an interval of the part beyond entropy that reaches 0, or one of the cross-entropy above 0,
over the sixty encodings or without a family; (2) a lead whose interval lies above 0 over all, without any family, among
models that fit, and with families as the units; (3) an interval above 0 among models that fit, scaled and not, on any
task, whichever family is left out.
"""
