package io.pipelane.switcher.sharing.trial;

/**
 * A stretch of a trial in which offline work had a share of a size.
 *
 * @param answers of online requests meanwhile
 * @param offlineRate what offline work did, of what it does with the whole device to itself
 */
record SharedStretch(int size, Stretch answers, double offlineRate) {}
