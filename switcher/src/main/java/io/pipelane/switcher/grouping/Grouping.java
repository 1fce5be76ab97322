package io.pipelane.switcher.grouping;

import io.pipelane.modelstore.Plan;
import java.util.List;

/** The choice of which runs of segments are moved by one copy (PipeSwitch §4.2). */
public interface Grouping {
  /**
   * Cuts what is missing of a model into groups.
   *
   * @param residentBytes the leading bytes that are on the device already
   * @return groups in order, together exactly {@code [residentBytes, plan.weightBytes())}; empty
   *     when nothing is missing
   */
  List<Group> groups(Plan plan, long residentBytes);

  /** Bytes {@code [offset, end)} of a weights file, moved by one copy. */
  record Group(long offset, long end) {
    public long byteSize() {
      return end - offset;
    }
  }
}
