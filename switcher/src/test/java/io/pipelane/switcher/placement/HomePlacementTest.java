package io.pipelane.switcher.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.modelstore.ModelVersion;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class HomePlacementTest {
  private final HomePlacement placement = new HomePlacement(2);
  private final Set<Integer> lost = new HashSet<>();

  private int place(String model, long version, long bytes) {
    return placement.place(
        new ModelVersion(model, version), bytes, device -> !lost.contains(device));
  }

  @Test
  void place_eachModelOnTheDeviceWithFewestBytes() {
    assertEquals(0, place("a", 1, 100));
    assertEquals(1, place("b", 1, 60));
    assertEquals(1, place("c", 1, 30));
    assertEquals(1, place("d", 1, 20));
    assertEquals(0, place("e", 1, 5));
  }

  @Test
  void place_versionsOfOneModelTogether() {
    assertEquals(0, place("a", 1, 100));
    assertEquals(0, place("a", 2, 100));
    assertEquals(1, place("b", 1, 150));
    assertEquals(0, place("a", 3, 100));
  }

  @Test
  void remove_theLastVersion_letsTheModelGoElsewhere() {
    place("a", 1, 100);
    place("a", 2, 100);
    placement.remove(new ModelVersion("a", 1));
    assertEquals(0, place("a", 3, 1));
    placement.remove(new ModelVersion("a", 2));
    placement.remove(new ModelVersion("a", 3));
    placement.remove(new ModelVersion("a", 3));
    assertEquals(0, place("b", 1, 10));
    assertEquals(1, place("a", 4, 10));
  }

  @Test
  void place_afterALoss_avoidsTheLostDevice() {
    assertEquals(0, place("a", 1, 100));
    lost.add(0);
    assertEquals(1, place("a", 2, 100));
    assertEquals(1, place("b", 1, 100));
  }

  @Test
  void place_twice_isRefused() {
    place("a", 1, 1);
    assertThrows(IllegalStateException.class, () -> place("a", 1, 1));
  }
}
