package io.pipelane.server.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class RepositoryPollTest {
  private final Map<String, Optional<String>> folders = new HashMap<>();
  private final List<String> told = new ArrayList<>();
  private boolean away;
  private CompletableFuture<Void> reload = CompletableFuture.completedFuture(null);

  private RepositoryPoll poll() {
    return new RepositoryPoll(
        () -> {
          if (away) {
            throw new StatusException(Status.NOT_FOUND, "there is no repository folder");
          }
          return Map.copyOf(folders);
        },
        name -> {
          told.add(name);
          return reload;
        });
  }

  private void shows(String name, String stamp) {
    folders.put(name, Optional.of(stamp));
  }

  private List<String> look(RepositoryPoll poll) {
    told.clear();
    CompletableFuture<Void> _ = poll.look();
    return List.copyOf(told);
  }

  @Test
  void folders_asTheyWereAtFirst_areNoNews() {
    shows("a", "1");
    RepositoryPoll poll = poll();
    assertEquals(List.of(), look(poll));
    assertEquals(List.of(), look(poll));
  }

  @Test
  void changes_areFollowedOnceTheyLookAlikeTwice() {
    shows("a", "1");
    RepositoryPoll poll = poll();
    shows("a", "2, half");
    shows("b", "1");
    assertEquals(List.of(), look(poll));
    shows("a", "2, more");
    assertEquals(List.of("b"), look(poll));
    shows("a", "2");
    assertEquals(List.of(), look(poll));
    assertEquals(List.of("a"), look(poll));
    assertEquals(List.of(), look(poll));
    folders.remove("a");
    assertEquals(List.of(), look(poll));
    assertEquals(List.of("a"), look(poll));
    assertEquals(List.of(), look(poll));
  }

  @Test
  void folder_thatIsBackAsItWas_isNoNews() {
    shows("a", "1");
    RepositoryPoll poll = poll();
    folders.remove("a");
    assertEquals(List.of(), look(poll));
    shows("a", "1");
    assertEquals(List.of(), look(poll));
    assertEquals(List.of(), look(poll));
  }

  @Test
  void whatCannotBeRead_hasNotChanged() {
    shows("a", "1");
    RepositoryPoll poll = poll();
    folders.put("a", Optional.empty());
    assertEquals(List.of(), look(poll));
    assertEquals(List.of(), look(poll));
    away = true;
    assertEquals(List.of(), look(poll));
    assertEquals(List.of(), look(poll));
    away = false;
    shows("a", "1");
    assertEquals(List.of(), look(poll));
  }

  @Test
  void change_duringAReload_isFollowedAfterIt() {
    RepositoryPoll poll = poll();
    reload = new CompletableFuture<>();
    shows("a", "1");
    look(poll);
    told.clear();
    CompletableFuture<Void> following = poll.look();
    assertEquals(List.of("a"), told);
    assertFalse(following.isDone());
    shows("a", "2");
    assertEquals(List.of(), look(poll));
    assertEquals(List.of(), look(poll));
    reload.completeExceptionally(new StatusException(Status.INVALID_ARGUMENT, "no model"));
    assertTrue(following.isDone());
    assertFalse(following.isCompletedExceptionally());
    assertEquals(List.of("a"), look(poll));
    assertEquals(List.of(), look(poll)); // Refused, and tried again when it changes.
  }
}
