package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ImportProgressTest {
  private static long seconds(long seconds) {
    return Duration.ofSeconds(seconds).toNanos();
  }

  @Test
  void lines_comeOnceAMinute_andSayWhatIsLeft() {
    ImportProgress progress = new ImportProgress(seconds(7));
    IntStream.range(0, 300).forEach(_ -> progress.add());
    assertEquals(300, progress.count());
    assertEquals(Optional.empty(), progress.advance(seconds(66)));
    assertEquals(
        "2 of 300 versions are imported, in 60 s; the others will take about 149 minutes",
        progress.advance(seconds(67)).orElseThrow());
    assertEquals(Optional.empty(), progress.advance(seconds(126)));
    assertEquals(
        "4 of 300 versions are imported, in 2 minutes; the others will take about 148 minutes",
        progress.advance(seconds(127)).orElseThrow());
  }

  @Test
  void theLast_hasNoLine() {
    ImportProgress progress = new ImportProgress(0);
    progress.add();
    assertEquals(1, progress.count());
    assertEquals(Optional.empty(), progress.advance(seconds(600)));
  }

  @Test
  void beforeAllAreCounted_thereIsNoLine() {
    ImportProgress progress = new ImportProgress(0);
    IntStream.range(0, 3).forEach(_ -> progress.add());
    assertEquals(Optional.empty(), progress.advance(seconds(600)));
    assertEquals(3, progress.count());
    assertEquals(
        "2 of 3 versions are imported, in 10 minutes; the others will take about 5 minutes",
        progress.advance(seconds(600)).orElseThrow());
  }
}
