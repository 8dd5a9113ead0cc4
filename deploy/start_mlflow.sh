#!/bin/bash
# Starts MLflow's server on the head, unless it answers already: every `ray up` calls this. Only the
# head itself reaches it; from elsewhere it takes an ssh tunnel.
set -euo pipefail
[ ! -f ~/capsweep-settings.sh ] || . ~/capsweep-settings.sh
# a database with a password is named in a file of its own, which nobody else may read
PRIVATE=${MLFLOW_ENVIRONMENT:-$HOME/capsweep-mlflow.env}
if [ -e "$PRIVATE" ]; then
  case $(stat --dereference --format %a "$PRIVATE") in
    *00) . "$PRIVATE" ;;
    *) echo "Others may read $PRIVATE: chmod 600 $PRIVATE, and change the password if it was seen." && exit 1 ;;
  esac
fi
PORT=${MLFLOW_PORT:-5000}
LOG=${MLFLOW_LOG:-$HOME/mlflow.log}
answers() { curl --silent --fail --max-time 5 "http://127.0.0.1:$PORT/health" >/dev/null; }

answers && exit 0
case $MLFLOW_DATABASE in sqlite:////*) mkdir -p "$(dirname "/${MLFLOW_DATABASE#sqlite:////}")" ;; esac
export MLFLOW_BACKEND_STORE_URI=$MLFLOW_DATABASE # no argument: those are seen by everybody
export MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false # seven processes that evaluate language models: not ours
# nohup and setsid: it has to outlive the ssh session that starts it. One worker: with several, each
# answer waits 40 ms for the client's delayed acknowledgement, as their sockets lack TCP_NODELAY.
nohup setsid mlflow server --host 127.0.0.1 --port "$PORT" --workers 1 \
  --artifacts-destination "$MLFLOW_ARTIFACTS" \
  </dev/null >"$LOG" 2>&1 &
for _ in $(seq 120); do
  answers && exit 0
  kill -0 $! 2>/dev/null || break
  sleep 1
done
if grep -Eq "No module named 'psycopg'|no pq wrapper" "$LOG"; then
  echo "MLflow has no driver for PostgreSQL: python -m pip install 'psycopg[binary]' in its environment."
else
  echo "MLflow did not start:"
  tail -n 20 "$LOG"
fi
exit 1
