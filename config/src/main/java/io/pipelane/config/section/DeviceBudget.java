package io.pipelane.config.section;

import io.pipelane.config.value.ByteSize;

/**
 * The resources of one device: its settings, or its own defaults where they are not set.
 *
 * @param weights memory for weights, in whole pages; may be empty where there is less than one
 * @param working memory for everything else
 * @param page the unit in which weights are lent memory
 * @param lanes inferences at a time
 */
public record DeviceBudget(ByteSize weights, ByteSize working, ByteSize page, int lanes) {
  public DeviceBudget {
    weights = new ByteSize(weights.bytes() / page.bytes() * page.bytes());
  }

  @Override
  public String toString() {
    return "%s for weights in pages of %s, %s of working memory, %d %s"
        .formatted(weights, page, working, lanes, lanes == 1 ? "lane" : "lanes");
  }
}
