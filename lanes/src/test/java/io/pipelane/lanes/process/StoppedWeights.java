package io.pipelane.lanes.process;

import io.pipelane.lanes.execution.StopWord;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/** Weights that are there, of a run that is stopped from its beginning. */
final class StoppedWeights implements PresentWeights {
  final CompletableFuture<StopWord> word = new CompletableFuture<>();
  final AtomicBoolean isBack = new AtomicBoolean();

  @Override
  public int segmentsAhead() {
    return 1;
  }

  @Override
  public Elsewhere computesElsewhere(StopWord stopWord) {
    stopWord.allow(0);
    word.complete(stopWord);
    return () -> isBack.set(true);
  }
}
