package io.pipelane.lanes.cpu;

import io.pipelane.config.value.ProcessorList;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The scheduling priority of a whole process, and the processors that it keeps to.
 *
 * @param nice how much less urgent it is than others, 0 to 19
 * @param processors that it keeps to; empty for all
 */
public record ProcessPriority(int nice, Optional<ProcessorList> processors) {
  /** That of any process. */
  public static final ProcessPriority USUAL = new ProcessPriority(0, Optional.empty());

  /**
   * Gives it to a process that runs, for as long as that lives.
   *
   * @return whether the system has done all of it; it says so of its first thread
   */
  public boolean giveTo(long pid) {
    /*
     * Linux keeps both for each thread, and a thread has its starter's. One that an untouched thread
     * starts meanwhile is found by the next pass, so after a pass that finds none all have it.
     */
    Set<Integer> touched = new HashSet<>();
    boolean given = false;
    List<Integer> threads = untouched(pid, touched);
    while (!threads.isEmpty()) {
      for (int thread : threads) {
        boolean taken = giveToThread(thread);
        given |= taken && thread == pid;
      }
      touched.addAll(threads);
      threads = untouched(pid, touched);
    }
    return given;
  }

  private boolean giveToThread(int thread) {
    boolean yields = nice == 0 || ThreadPriority.yieldToOthers(thread, nice);
    return processors.map(some -> ThreadPriority.keepTo(thread, some)).orElse(true) && yields;
  }

  /** None where the process is gone, or the system does not tell. */
  private static List<Integer> untouched(long pid, Set<Integer> touched) {
    List<Integer> threads = new ArrayList<>();
    Path folder = Path.of("/proc", Long.toString(pid), "task");
    try (DirectoryStream<Path> tasks = Files.newDirectoryStream(folder)) {
      for (Path task : tasks) {
        int thread = Integer.parseInt(String.valueOf(task.getFileName()));
        if (!touched.contains(thread)) {
          threads.add(thread);
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      return List.of();
    }
    return threads;
  }
}
