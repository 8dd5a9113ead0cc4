# What follows is the same for every sweep. It starts Ray on the nodes of this job alone, runs the
# sweep, and queues the job again when its time was over before the sweep was done.
set -u -o noclobber # so that nothing is written through a link
export SLURM_EXPORT_ENV=ALL # sbatch --export=NONE holds for srun too, whose steps need our variables
log() { printf '%s\n' "capsweep: $*"; }
# Writes a line into a file of the job's folder, in place of what bears its name.
put() {
  rm -f "$1" && printf '%s\n' "$2" > "$1"
}
scratch=
end() {
  [ -z "$scratch" ] || on --nodes="$SLURM_NNODES" --ntasks="$SLURM_NNODES" rm -rf "$scratch" 2> /dev/null
  put exit "$1" || true
  exit "$1"
}
on() { srun --overlap --cpus-per-task="$SLURM_CPUS_PER_TASK" --ntasks-per-node=1 "$@"; }

cd "$folder"
if [ ! -O . ] || [ -n "$(find . -maxdepth 0 -perm /022)" ]; then
  log "$folder is another user's, or others may write to it, and what lies in it is not executed."
  exit 2
fi
attempt=$((${1:-1} + ${SLURM_RESTART_COUNT:-0}))
log "job $SLURM_JOB_ID, attempt $attempt of $attempts, on $SLURM_JOB_NODELIST"
put job "$SLURM_JOB_ID"
rm -f exit

# Each node has to see the storage folder and this Python.
if ! on --nodes="$SLURM_NNODES" --ntasks="$SLURM_NNODES" bash -c '
  [ -e "$0/job.sbatch" ] || { echo "capsweep: $(hostname) does not see $0: give --storage a folder that all nodes see."; exit 2; }
  [ -x "$1/capsweep" ] || { echo "capsweep: $(hostname) does not see $1: install capsweep where all nodes see it."; exit 2; }
  ' "$folder" "$bin"; then
  end 2
fi

# Ports, token and temporary folder are this job's alone: another job may share a node.
export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0
RAY_AUTH_TOKEN=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
export RAY_AUTH_TOKEN
address=$(getent ahostsv4 "$(hostname)" | awk 'NR == 1 {print $1}')
port=$((20000 + SLURM_JOB_ID % 2000 * 5))
# A name that nobody can guess, and a folder of our own under it on each node: Ray's sockets want a
# short path, and the same one everywhere.
scratch=/tmp/capsweep-$(od -An -N6 -tx1 /dev/urandom | tr -d ' \n')
if ! on --nodes="$SLURM_NNODES" --ntasks="$SLURM_NNODES" bash -c '
  mkdir -m 700 "$0" 2> /dev/null || { [ -d "$0" ] && [ ! -L "$0" ] && [ -O "$0" ]; }
  ' "$scratch"; then
  log "no folder $scratch for Ray can be made on every node of the job."
  end 3
fi
ray_options=(--num-cpus="$SLURM_CPUS_PER_TASK" --object-store-memory=268435456 --block
  --min-worker-port=0 --max-worker-port=0 --dashboard-agent-listen-port=$((port + 1))
  --metrics-export-port=$((port + 2)))
on --nodes=1 --ntasks=1 -w "$(hostname)" "$bin/ray" start --head --node-ip-address="$address" \
  --port="$port" --include-dashboard=false --temp-dir="$scratch" \
  "${ray_options[@]}" > "$scratch/ray-head.log" 2>&1 &
head=$!
until (exec 3<> "/dev/tcp/$address/$port") 2> /dev/null; do
  if ! kill -0 "$head" 2> /dev/null; then
    log "Ray has not started on $(hostname): see $folder/ray-head.log."
    rm -f ray-head.log
    cp "$scratch/ray-head.log" ray-head.log
    end 3
  fi
  sleep 0.5
done
if [ "$SLURM_NNODES" -gt 1 ]; then
  on --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$(hostname)" \
    "$bin/ray" start --address="$address:$port" "${ray_options[@]}" > "$scratch/ray-workers.log" 2>&1 &
fi

# Shortly before its time is over, or when it is preempted, the job ends the sweep as Ctrl-C does.
is_over=
"$bin/capsweep" run "${run[@]}" --address "$address:$port" --reports "$storage/reports" &
driver=$!
interrupt() { kill -ALRM "$driver" 2> /dev/null; }
preempted() { scontrol show job "$SLURM_JOB_ID" | grep -q 'PreemptTime=[0-9]'; }
trap 'is_over=yes; log "the time of the job is nearly over"; interrupt' USR1
trap 'if preempted; then is_over=yes; fi; interrupt' TERM
trap 'interrupt' INT
code=0
wait "$driver" 2> /dev/null || code=$?
while kill -0 "$driver" 2> /dev/null; do # a signal ends only the waiting
  code=0
  wait "$driver" 2> /dev/null || code=$?
done
if [ "$code" = 142 ]; then code=130; fi # interrupted before it could say so
trap '' USR1 TERM INT
jobs -p | xargs -r kill 2> /dev/null
wait
on --nodes="$SLURM_NNODES" --ntasks="$SLURM_NNODES" rm -rf "$scratch" 2> /dev/null
scratch=

if [ "$code" != 130 ] || [ -z "$is_over" ]; then
  end "$code"
elif [ "$attempt" -ge "$attempts" ]; then
  log "this was attempt $attempt of $attempts: submit the sweep again to train what is missing."
  end "$code"
fi
log "trials are missing, so the job is queued again: nothing is to be done."
trap - TERM
scontrol requeue "$SLURM_JOB_ID" 2> /dev/null && sleep infinity # requeueing ends this script
if next=$(sbatch --parsable job.sbatch $((attempt + 1))); then # --export=NONE passes no variable
  put job "$next"
else
  log "Slurm does not take the job again: submit the sweep again to train what is missing."
  end "$code"
fi
