package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.modelstore.ModelVersion;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Contents before others leave, once at a time each. */
class IdleContentsTest {
  private static final ModelVersion FIRST = new ModelVersion("a", 1);
  private static final ModelVersion SECOND = new ModelVersion("b", 1);

  private final List<ModelVersion> begun = new ArrayList<>();
  private final List<CompletableFuture<Void>> operations = new ArrayList<>();
  private final IdleContents contents =
      new IdleContents(
          latest -> {
            CompletableFuture<Void> operation = new CompletableFuture<>();
            begun.add(latest);
            operations.add(operation);
            return operation;
          });

  @Test
  void oneThatIsAboutToLeave_isNotToldAgain_untilThatHasEndedOrFailed() {
    contents.leaveBeside(FIRST);
    contents.leaveBeside(FIRST);
    contents.leaveBeside(SECOND);
    assertEquals(List.of(FIRST, SECOND), begun);
    operations.getFirst().completeExceptionally(new IllegalStateException("on demand"));
    contents.leaveBeside(FIRST);
    contents.leaveBeside(SECOND);
    assertEquals(List.of(FIRST, SECOND, FIRST), begun);
    operations.get(1).complete(null);
    contents.leaveBeside(SECOND);
    assertEquals(List.of(FIRST, SECOND, FIRST, SECOND), begun);
  }
}
