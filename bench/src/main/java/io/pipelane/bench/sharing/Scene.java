package io.pipelane.bench.sharing;

import java.util.ArrayList;
import java.util.List;

/**
 * A way of sharing the device.
 *
 * @param percent of the multiprocessors that offline work has; 100 where they are not divided
 */
record Scene(Way way, int percent) {
  static final Scene ALONE = new Scene(Way.ALONE, 100);

  /** Online work alone first, then every way, with every share where it has one. */
  static List<Scene> of(List<Way> ways, List<Integer> percents) {
    List<Scene> scenes = new ArrayList<>(List.of(ALONE));
    for (Way way : ways) {
      for (int percent : way.hasPercent() ? percents : List.of(ALONE.percent)) {
        Scene scene = new Scene(way, percent);
        if (!scenes.contains(scene)) {
          scenes.add(scene);
        }
      }
    }
    return scenes;
  }

  @Override
  public String toString() {
    return way.hasPercent() ? way + " " + percent + " %" : way.toString();
  }
}
