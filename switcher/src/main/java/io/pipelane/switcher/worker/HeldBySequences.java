package io.pipelane.switcher.worker;

import io.pipelane.modelstore.repository.ModelOptions.Priority;

/**
 * The working memory that sequences hold between their steps, as runs that need room know of it.
 */
public interface HeldBySequences {
  /** Has something idle leave in favour of a class; false when there is nothing. */
  boolean writeOut(Priority inFavourOf);

  /** What they hold now. */
  long bytes();

  /**
   * What the state of one could have at most beside a step's lane and session, were nothing else
   * held.
   *
   * @param of the class that the state is charged to
   * @param step the step's
   */
  long most(Priority of, Priority step, long laneBytes, long sessionBytes);
}
