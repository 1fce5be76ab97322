package io.pipelane.switcher.simulator;

import io.pipelane.switcher.grouping.Contention;

/**
 * The cost of copies and runs to each other on a device, beside what each takes alone.
 *
 * @param contention while a run and copies are beside each other
 * @param restFactor how many times as long as it took the link rests behind a copy that nobody
 *     waits for, while something runs, see {@link io.pipelane.lanes.Device#restBehindCopies}
 * @param aheadNanos what a page that is fetched ahead takes beside its copy: threads wake up, it is
 *     mapped; not one that is sent for behind another
 * @param heldNanos how long such a page, from when it is sent for, keeps a variant from being put
 *     under its structure's addresses, as one thread maps and copies
 * @param stallIsExcess whether a run that waits for weights tells as its stall all that it takes
 *     beyond a warm one, as a device does that waits by itself; else what it waits alone
 * @param mapsAmongCopies whether a run's copies begin once the first of its pages lies in its
 *     place, and the others are put there meanwhile; else once all lie there
 */
public record Friction(
    Contention contention,
    int restFactor,
    long aheadNanos,
    long heldNanos,
    boolean stallIsExcess,
    boolean mapsAmongCopies) {
  public static final Friction NONE = new Friction(Contention.NONE, 0, 0, 0, false, false);
}
